#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/error.hpp"
#include "reports/html.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/font.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/page_data.hpp"
#include "reports/html/page_script.hpp"
#include "reports/html/sections.hpp"
#include "reports/tags.hpp"

namespace acid {
namespace {

struct Section {
  std::string_view anchor, name;
  std::string (*body)(const ReportData&);
  unsigned parts;                // bits: kFew, kSweep, kOne
  std::string_view packed = {};  // in a sweep's page, the name of the fold that it is packed in
};
constexpr unsigned bit_of(PagePart part) { return 1U << static_cast<unsigned>(part); }
constexpr unsigned kFew = bit_of(PagePart::few_settings), kSweep = bit_of(PagePart::sweep),
                   kOne = bit_of(PagePart::one_setting);
constexpr std::array kSections{
    Section{"overview", "Overview", overview_section, kSweep},
    Section{"verdict", "Verdict", verdict_section, kFew | kOne},
    Section{"claims", "Claims", claims_section, kFew | kSweep},
    Section{"search", "Search", search_section, kFew},
    Section{"setting", "One setting", setting_section, kSweep},
    Section{"curves", "Curves", curves_section, kFew | kOne},
    Section{"time", "Where the time went", time_section, kFew | kOne},
    Section{"predicted", "Predicted and measured", predicted_section, kFew | kSweep},
    Section{"network", "Network and workers", network_section, kFew | kOne},
    Section{"numbers", "Every number", verdict_table, kSweep, "The table of all settings"},
    Section{"data", "Who holds what", holdings_section, kFew | kSweep},
    Section{"hosts", "Hosts", hosts_section, kFew | kSweep},
    Section{"seeds", "Every run", seeds_section, kFew | kSweep | kOne, "The table of all runs"},
    Section{"settings", "Settings", settings_section, kFew | kSweep,
            "What differs, and what all share"},
    Section{"environment", "Environment", environment_section, kFew | kSweep},
    Section{"checklist", "Checklist", checklist_section, kFew | kSweep},
    Section{"reproduce", "Reproduce", reproduce_section, kFew | kSweep,
            "Commands, recipe and digests"},
};

/// The one style sheet: the page's own, and what the script's drawings need.
std::string all_styles() { return std::string(style_sheet()) + std::string(page_script().style); }

std::string head(const ReportData& data, const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n",
      content_security_policy(data.live), escaped(title), all_styles());
}

/// The font that the script writes into the files of drawings (reports/page/src/paper.ts).
std::string font_block() {
  return fmt::format("<script type=\"application/octet-stream\" id=\"acid-font\">{}</script>\n",
                     base64(figure_font().file));
}

/// The script's data, and the script; nothing in a build without it.
std::string scripts(const ReportData& data) {
  const std::string_view script = page_script().script;
  if (script.empty()) return "";
  return fmt::format("{}{}<script>{}</script>\n", data_block(data), font_block(), script);
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string progress_sentence(const ReportData& data) {
  const auto finished = std::ranges::count_if(
      data.runs, [](const RunDetail& run) { return run.summary.state == RunState::finished; });
  return fmt::format(" {} of {} finished.", finished, plural(data.runs.size(), "run", "runs"));
}

/// The status line of a live page: why nothing moves; empty while something does.
std::string live_status(const ReportData& data) {
  const auto count = [&](std::initializer_list<RunState> states) {
    return std::ranges::count_if(data.runs, [&](const RunDetail& run) {
      return std::ranges::find(states, run.summary.state) != states.end();
    });
  };
  if (count({RunState::running}) > 0) return {};
  const auto waiting = count({RunState::planned, RunState::interrupted});
  if (waiting == 0) return "All runs have ended: this is the last state.";
  return fmt::format("No run is going on: {} have ended, {} are still to be executed.",
                     static_cast<std::ptrdiff_t>(data.runs.size()) - waiting, waiting);
}

/// "glyphs · cnn · ring 16 · virtual (simulated seconds) · seeds 1-3 · 2 settings · 18 runs".
std::string lede(const ReportData& data, const std::string& title) {
  std::string heading = data.comparison.heading;
  if (heading.starts_with(title + " · ")) heading.erase(0, title.size() + 4);
  return fmt::format(
      "{} · {} · {}.{}", heading, plural(data.comparison.points.size(), "setting", "settings"),
      plural(data.runs.size(), "run", "runs"), data.live ? progress_sentence(data) : "");
}

/// Tags and notes of what is on the page.
std::string tag_notes(const ReportData& data) {
  std::string out;
  for (const std::string& line : tag_lines(data.comparison.tagged)) out += note(line);
  return out;
}

/// Every algorithm of the page with its look, once.
std::string algorithms_legend(const ReportData& data) {
  std::string out;
  std::set<std::string> told;
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g)
    if (const std::string& label = data.comparison.groups[g].label; told.insert(label).second)
      out += fmt::format("<span>{}<bdi>{}</bdi></span>\n", swatch(data.styles[g]), escaped(label));
  return fmt::format("<div class=\"legend\">\n{}</div>\n", out);
}

std::string footer() {
  return paragraph(
             "Made by acid from its store alone. Intervals are Student’s t at 95 % over seeds; "
             "differences are paired by seed, and their p is that of the exact sign-flip "
             "permutation "
             "test (signed-rank where a run diverged or with more than 40 seeds), adjusted by Holm "
             "over all comparisons of a "
             "metric.") +
         (page_script().script.empty()
              ? paragraph("Static charts: this acid was built without npm.")
              : "");
}

}  // namespace

std::vector<DrawnSection> sections_of(const ReportData& data, PagePart part) {
  std::vector<DrawnSection> drawn;
  for (const Section& section : kSections) {
    if ((section.parts & bit_of(part)) == 0) continue;
    std::string body = section.body(data);
    // A sweep's page begins with its overview, also if it says nothing yet.
    if (body.empty() && section.body != overview_section) continue;
    if (part == PagePart::sweep && !section.packed.empty())
      body = packed_details(section.packed, body);
    drawn.push_back({section.anchor, section.name,
                     fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", section.anchor,
                                 section.name, body)});
  }
  return drawn;
}

std::string content_security_policy(bool live) {
  const std::string_view script = page_script().script;
  return fmt::format(
      "default-src 'none'; style-src {};{} img-src data:;{} base-uri 'none'; form-action 'none'",
      content_hash(all_styles()),
      script.empty() ? "" : fmt::format(" script-src {};", content_hash(script)),
      live ? " connect-src 'self';" : "");
}

std::string render_report(const Store& store, const AskedRuns& asked,
                          const ReportOptions& options) {
  if (asked.ids.empty()) throw UsageError("there is no run to report on");
  const ReportData data = read_report(store, asked, options);
  std::string title;
  for (const ExperimentRecord& experiment : data.experiments)
    title +=
        (title.empty() ? "" : ", ") + (experiment.name.empty() ? experiment.id : experiment.name);
  std::string body, links;
  for (const auto& [anchor, name, html] :
       sections_of(data, is_sweep(data) ? PagePart::sweep : PagePart::few_settings)) {
    links += fmt::format("<a href=\"#{}\">{}</a>\n", anchor, name);
    body += html;
  }
  return fmt::format(
      "{}<body>\n<header>\n<h1>{}</h1>\n<p class=\"lede\">{}</p>\n{}{}{}"
      "<nav aria-label=\"Sections\">\n{}</nav>\n</header>\n<main>\n{}</main>\n"
      "<footer>{}</footer>\n{}</body>\n</html>\n",
      head(data, title + " — acid"), escaped(title), escaped(lede(data, title)), tag_notes(data),
      algorithms_legend(data),
      data.live ? fmt::format("<p id=\"live-status\" class=\"note\" role=\"status\">{}</p>\n",
                              live_status(data))
                : "",
      links, body, footer(), scripts(data));
}

}  // namespace acid
