#include "reports/html/run_curves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "engine/base/error.hpp"

namespace acid {
namespace {

using CellIndex = std::int16_t;
constexpr CellIndex kNowhere = -1;  // the position is not known on the axis

/// The places of an attempt's positions on one axis.
struct AxisPlaces {
  std::span<const Position> ticks;
  std::vector<CellIndex> cells;  // of each tick; the number of cells: beyond the end
};

void place(AxisPlaces& places, std::span<const Position> ticks, PositionAxis axis, double end,
           int cells) {
  places.ticks = ticks;
  places.cells.clear();
  places.cells.reserve(ticks.size());
  for (const Position& tick : ticks) {
    const double x = coordinate(tick, axis);
    places.cells.push_back(!(end > 0) || !(x >= 0)
                               ? kNowhere
                               : static_cast<CellIndex>(x > end ? cells : cell_of(x, end, cells)));
  }
}

/// The means of a curve on the cells of one axis. Values come by ascending x.
class CellMeans {
 public:
  CellMeans(PositionAxis axis, double end, int cells)
      : axis_(axis),
        end_(end),
        cells_{std::vector<double>(static_cast<std::size_t>(cells), kNone),
               std::vector<double>(static_cast<std::size_t>(cells), kNone)} {}

  void add(std::span<const TickValue> piece, const AxisPlaces& places) {
    const TickValue* last = nullptr;
    for (const TickValue& one : piece) {
      const CellIndex cell = places.cells[one.tick];
      if (cell == kNowhere) continue;
      if (cell != cell_) {
        if (last != nullptr) before_ = point_of(*last, places);
        enter(cell, point_of(one, places));
      }
      sum_ += one.value;
      ++count_;
      last = &one;
    }
    if (last != nullptr) before_ = point_of(*last, places);
  }

  RunCurve::Cells take() {
    close();
    return std::move(cells_);
  }

 private:
  CurvePoint point_of(const TickValue& one, const AxisPlaces& places) const {
    return {coordinate(places.ticks[one.tick], axis_), one.value};
  }

  void close() {
    const auto cell = static_cast<std::size_t>(cell_);
    if (cell_ != kNowhere && cell < cells_.means.size()) {
      cells_.means[cell] = sum_ / count_;
      cells_.places[cell] = (first_ + before_->x) / 2;
    }
    sum_ = 0;
    count_ = 0;
  }

  /// Skipped cells are on the straight line from the last value to this one.
  void enter(CellIndex cell, const CurvePoint& point) {
    close();
    std::vector<double>& means = cells_.means;
    if (before_)
      for (auto k = static_cast<std::size_t>(cell_) + 1; k < static_cast<std::size_t>(cell); ++k) {
        const double middle =
            (static_cast<double>(k) + 0.5) * end_ / static_cast<double>(means.size());
        means[k] =
            before_->y + (point.y - before_->y) * (middle - before_->x) / (point.x - before_->x);
      }
    cell_ = cell;
    first_ = point.x;
  }

  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  const PositionAxis axis_;
  const double end_;
  RunCurve::Cells cells_;
  CellIndex cell_ = kNowhere;  // in which the latest value lies
  double first_ = 0;           // the place of the cell's first value
  double sum_ = 0;
  int count_ = 0;
  std::optional<CurvePoint> before_;  // the latest value
};

/// Keeps the points that a line through all points shows, see RunCurve::line.
class LineThinner {
 public:
  explicit LineThinner(std::size_t most) : most_(most) {}

  void add(std::span<const TickValue> piece, const AxisPlaces& columns) {
    for (const TickValue& one : piece) {
      if (count_ < most_) all_.push_back({columns.ticks[one.tick], one.value});
      const CellIndex column = columns.cells[one.tick];
      if (count_ == 0 || column != column_) {
        flush();
        column_ = column;
        lowest_ = highest_ = numbered(one, columns);
      } else if (one.value < lowest_.point.value) {
        lowest_ = numbered(one, columns);
      } else if (one.value > highest_.point.value) {
        highest_ = numbered(one, columns);
      }
      if (count_ == 0) keep(lowest_);
      ++count_;
    }
    if (!piece.empty())
      last_ = {count_ - 1, {columns.ticks[piece.back().tick], piece.back().value}};
  }

  bool is_whole() const { return count_ <= most_; }

  std::vector<SeriesPoint> take() {
    if (is_whole()) return std::move(all_);
    flush();
    keep(last_);
    return std::move(kept_);
  }

 private:
  struct Numbered {
    std::size_t number = 0;  // counts the curve's points
    SeriesPoint point;
  };
  Numbered numbered(const TickValue& one, const AxisPlaces& columns) const {
    return {count_, {columns.ticks[one.tick], one.value}};
  }
  void keep(const Numbered& one) {
    if (!kept_.empty() && one.number <= newest_kept_) return;
    kept_.push_back(one.point);
    newest_kept_ = one.number;
  }
  void flush() {
    if (count_ == 0) return;
    const bool lowest_first = lowest_.number < highest_.number;
    keep(lowest_first ? lowest_ : highest_);
    keep(lowest_first ? highest_ : lowest_);
  }

  const std::size_t most_;
  std::size_t count_ = 0;
  std::vector<SeriesPoint> all_;  // while there are no more than most_
  CellIndex column_ = kNowhere;
  Numbered lowest_, highest_, last_;  // of the column; of all
  std::vector<SeriesPoint> kept_;
  std::size_t newest_kept_ = 0;
};

/// One metric's curve while it is read.
struct CurveUnderWay {
  std::vector<CellMeans> axes;
  LineThinner line;
};

class CurveReducer : public SeriesVisitor {
 public:
  CurveReducer(const std::vector<std::string>& metrics, const AxisEnds& ends, int cells, int points)
      : metrics_(metrics), ends_(ends), cells_(cells), columns_(std::max(1, points / 2 - 1)) {
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      CurveUnderWay curve{{}, LineThinner(static_cast<std::size_t>(points))};
      for (std::size_t a = 0; a < kAxes.size(); ++a)
        curve.axes.emplace_back(kAxes[a], ends[a], cells);
      curves_.push_back(std::move(curve));
    }
  }

  void positions(std::span<const Position> ticks) override {
    for (std::size_t a = 0; a < kAxes.size(); ++a)
      place(places_[a], ticks, kAxes[a], ends_[a], cells_);
    const auto moving = std::ranges::find_if(ends_, [](double end) { return end > 0; });
    const std::size_t axis =
        moving == ends_.end() ? 0 : static_cast<std::size_t>(moving - ends_.begin());
    place(column_places_, ticks, kAxes[axis], ends_[axis], columns_);
  }

  void values(const std::string& metric, std::span<const TickValue> piece) override {
    const auto place = std::ranges::find(metrics_, metric);
    ACID_ASSERT(place != metrics_.end(), "metric {}", metric);
    CurveUnderWay& curve = curves_[static_cast<std::size_t>(place - metrics_.begin())];
    const auto is_finite = [](const TickValue& one) { return std::isfinite(one.value); };
    if (!std::ranges::all_of(piece, is_finite)) {
      finite_.clear();
      std::ranges::copy_if(piece, std::back_inserter(finite_), is_finite);
      piece = finite_;
    }
    for (std::size_t a = 0; a < kAxes.size(); ++a) curve.axes[a].add(piece, places_[a]);
    curve.line.add(piece, column_places_);
  }

  std::vector<RunCurve> take() {
    std::vector<RunCurve> result;
    for (CurveUnderWay& curve : curves_) {
      RunCurve& out = result.emplace_back();
      for (std::size_t a = 0; a < kAxes.size(); ++a) out.cells[a] = curve.axes[a].take();
      out.whole = curve.line.is_whole();
      out.line = curve.line.take();
    }
    return result;
  }

 private:
  const std::vector<std::string>& metrics_;
  const AxisEnds ends_;
  const int cells_, columns_;
  std::vector<CurveUnderWay> curves_;
  std::array<AxisPlaces, kAxes.size()> places_;  // of the attempt's ticks
  AxisPlaces column_places_;
  std::vector<TickValue> finite_;
};

}  // namespace

std::vector<RunCurve> read_run_curves(const Store& store, const std::string& run_id,
                                      const std::vector<std::string>& metrics, const AxisEnds& ends,
                                      int cells, int points) {
  ACID_ASSERT(cells > 0 && std::max(cells, points) < std::numeric_limits<CellIndex>::max(),
              "{}, {}", cells, points);
  CurveReducer reducer(metrics, ends, cells, points);
  visit_series(store, run_id, metrics, reducer);
  return reducer.take();
}

}  // namespace acid
