#include <fmt/format.h>

#include "engine/language/listing.hpp"

namespace acid {
namespace {

using nlohmann::json;

json printed(const std::vector<Statement>& statements) {
  json list = json::array();
  for (const Statement& statement : statements) list.push_back(print(statement));
  return list;
}

json printed(const std::vector<Kept>& kept) {
  json table = json::object();
  for (const Kept& one : kept) {
    if (one.is_rest) continue;
    table[one.name] = one.is_rest_of_x  ? json("rest")
                      : one.pulled_by   ? json(fmt::format("pulled({})", *one.pulled_by))
                      : one.starts_at_x ? json("x")
                                        : json(one.start);
  }
  return table;
}

json of_server(const Listing& server) {
  json table{{"keep", printed(server.vectors)},
             {"scalars", printed(server.numbers)},
             {"hear", printed(server.hear)},
             {"send", printed(server.send)}};
  if (!server.served.hubs) return table;
  const Listing& visit = *server.served.hubs->visit;
  table["hubs"] = print(server.served.hubs->count);
  table["visit"] = {{"every", print(server.served.hubs->every)},
                    {"say", printed(visit.say)},
                    {"send", printed(visit.send)},
                    {"hear", printed(visit.hear)}};
  table["above"] = of_server(*visit.served.server);
  return table;
}

}  // namespace

json canonical(const Listing& listing) {
  json table{{"keep", printed(listing.vectors)}, {"scalars", printed(listing.numbers)},
             {"point", print(listing.point)},    {"model", print(listing.model)},
             {"step", printed(listing.step)},    {"say", printed(listing.say)},
             {"send", printed(listing.send)},    {"hear", printed(listing.hear)},
             {"parameters", json::array()}};
  for (const ListedParameter& one : listing.parameters) table["parameters"].push_back(one.name);
  if (listing.meets()) {
    table["rate"] = print(*listing.rate);
  } else {
    table["round"] = listing.round;
    table["peers"] = name_of(listing.peers);
    for (std::size_t i = 0; i < listing.turns.size(); ++i) {
      if (i == 0) table["peers"] = json::array();
      const Listing::Turn& turn = listing.turns[i];
      table["peers"].push_back(fmt::format("{} {}", print(turn.count), name_of(turn.peers)));
    }
  }
  if (listing.served.server) table["server"] = of_server(*listing.served.server);
  if (listing.fragments) table["fragments"] = print(*listing.fragments);
  if (listing.between)
    table["between"] = fmt::format("mix({}, {}, {})", listing.between->a, listing.between->b,
                                   print(listing.between->rate));
  return table;
}

}  // namespace acid
