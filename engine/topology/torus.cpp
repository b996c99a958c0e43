#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

constexpr Field kTorusFields[] = {
    {"rows", FieldType::integer, "0", "workers per column; 0: as square as the number allows", 0},
};

int most_square_rows(int workers) {
  int rows = 1;
  for (int divisor = 1; divisor <= workers / divisor; ++divisor) {
    if (workers % divisor == 0) rows = divisor;
  }
  if (rows == 1) {
    throw UsageError(fmt::format(
        "topology 'torus': {0} workers fill no rectangle but 1 × {0}, which is a ring; use "
        "another number of workers, kind = \"ring\", or say rows = 1",
        workers));
  }
  return rows;
}

Topology make_torus(int workers, const nlohmann::json& options) {
  const std::int64_t asked = integer(options, "rows");
  if (asked < 0 || asked > workers || (asked > 0 && workers % asked != 0)) {
    throw UsageError(fmt::format(
        "topology 'torus': {} workers do not form {} equal rows; rows must divide the number of "
        "workers (0: as square as possible)",
        workers, asked));
  }
  const int rows = asked == 0 ? most_square_rows(workers) : static_cast<int>(asked);
  const int columns = workers / rows;
  std::vector<Edge> edges;
  // In a side of length 2 both ways round lead to the same worker, so that edge counts twice; a
  // side of length 1 has no neighbours.
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const int here = row * columns + column;
      if (columns > 1) edges.push_back({here, row * columns + (column + 1) % columns});
      if (rows > 1) edges.push_back({here, (row + 1) % rows * columns + column});
    }
  }
  return {"torus", workers, std::move(edges), {rows, columns}};
}

}  // namespace

const TopologyEntry torus_topology{
    "torus", "a grid whose rows and columns are rings; worker = row × columns + column",
    kTorusFields, &make_torus};

}  // namespace acid
