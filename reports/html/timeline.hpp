#pragma once

#include <string>
#include <vector>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// How the workers of a group's first finished run spent the time of their first gradients.
struct TimelineData {
  std::size_t group = 0;
  std::string id;     // unique in the page: "timeline-0"
  std::string label;  // the group's, with its sweep point if there are several
  std::string unit;   // "s" or "simulated s"
  int style = 0;
  int workers = 0;  // of the run; some may have no row
  struct Row {
    int worker = 0;
    std::vector<Span> spans;  // as recorded
  };
  std::vector<Row> rows;  // by worker
};

/// One for each group whose run kept its spans, in the order of the groups. A page holds at most
/// kMostTimelineSpans of them: groups of many workers are cut to fewer rows, the first ones and the
/// one that computes slowest.
std::vector<TimelineData> timelines(const ReportData& data);
inline constexpr std::size_t kMostTimelineSpans = 30'000;

/// The end of the time, from 0, that all timelines of a page show: the time recorded for every
/// worker of every group, so that the same length is the same time everywhere.
double timeline_end(const std::vector<TimelineData>& timelines);

/// The static figure of the timeline at `index`, from 0 to `end`: computing is a bar, waiting a
/// thin line, an exchange a mark at the foot of the row. Not all of many workers have a row.
PageFigure draw_timeline(const TimelineData& timeline, std::size_t index, double end);

}  // namespace acid
