#include "reports/html/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "reports/html.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/style.hpp"

namespace acid {
namespace {

struct Section {
  const char* anchor;
  const char* name;
  std::string (*draw)(const ReportData&);
};
constexpr std::array kSections{
    Section{"verdict", "Verdict", verdict_section},
    Section{"curves", "Curves", curves_section},
    Section{"network", "Network and workers", network_section},
    Section{"seeds", "Every run", seeds_section},
    Section{"settings", "Settings", settings_section},
    Section{"environment", "Environment", environment_section},
    Section{"reproduce", "Reproduce", reproduce_section},
};

std::string head(const std::string& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; "
      "img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n",
      style_hash(style_sheet()), escaped(title), style_sheet());
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// "AR-SGD, AD-PSGD and A²CiD²: 2 settings, 3 seeds, 18 runs; virtual driver."
std::string lede(const ReportData& data) {
  std::vector<std::string> labels;
  std::set<std::uint64_t> seeds;
  std::set<std::string> drivers;
  for (const ComparedGroup& group : data.comparison.groups)
    if (std::find(labels.begin(), labels.end(), group.label) == labels.end())
      labels.push_back(group.label);
  for (const RunDetail& run : data.runs) {
    seeds.insert(run.summary.seed);
    drivers.insert(run.summary.driver);
  }
  std::string names;
  for (std::size_t k = 0; k < labels.size(); ++k)
    names += (k == 0 ? "" : k + 1 == labels.size() ? " and " : ", ") + labels[k];
  std::string how;
  for (const std::string& driver : drivers) how += (how.empty() ? "" : ", ") + driver;
  return fmt::format("{}: {}, {}, {}; driver {}.", names,
                     plural(data.comparison.points.size(), "setting", "settings"),
                     plural(seeds.size(), "seed", "seeds"), plural(data.runs.size(), "run", "runs"),
                     how);
}

}  // namespace

std::string draw_page(const ReportData& data) {
  const std::string title =
      data.experiment.name.empty() ? data.experiment.id : data.experiment.name;
  std::string body, links;
  for (const Section& section : kSections) {
    const std::string text = section.draw(data);
    if (text.empty()) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", section.anchor, section.name);
    body += text;
  }
  return fmt::format(
      "{}<body>\n<header>\n<h1>{}</h1>\n<p class=\"lede\">{}</p>\n"
      "<nav aria-label=\"Sections\">\n{}</nav>\n</header>\n<main>\n{}</main>\n"
      "<footer><p>Made by acid from its store alone. Intervals are Student’s t at 95 % over "
      "seeds; "
      "differences are paired by seed, and their p is the exact sign-flip permutation test, "
      "adjusted by Holm over all comparisons of a metric.</p></footer>\n</body>\n</html>\n",
      head(title + " — acid"), escaped(title), escaped(lede(data)), links, body);
}

std::string render_report(const Store& store, const std::vector<std::string>& run_ids) {
  return draw_page(read_report(store, run_ids));
}

}  // namespace acid
