#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "cli/terminal/commands.hpp"
#include "cli/terminal/end_signals.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/watch/watch_html.hpp"
#include "cli/watch/watch_html_browser.hpp"
#include "cli/watch/watch_view.hpp"
#include "cli/watch/watched_runs.hpp"

namespace acid {
namespace {

constexpr double kSecondsBetweenLooks = 0.5;
constexpr int kAllLines = 1'000'000;
// The share of a core that looking may take, however much there is to see.
constexpr double kLargestShare = 0.015;
// Within this time a page in a browser asks again, and gets the end of the last run.
constexpr double kSecondsForLastPage = 5;

struct WatchOptions {
  std::vector<std::string> names;
  bool once = false;
  bool wait = false;
  bool html = false;
  int port = 0;  // 0: any
  bool open = false;
  Format format;
};

// Says why there is nothing to see, and what would change that.
void say_nothing_runs(const WatchedRuns& watched) {
  const std::size_t waiting = watched.waiting();
  if (watched.at_work())
    return say(
        fmt::format("no run is active at this moment, between two runs: {} of {} ended, and a "
                    "process goes on with the others",
                    watched.ended(), watched.runs().size()));
  say(fmt::format("no run is active: {} of {} ended and {}{}", watched.ended(),
                  watched.runs().size(), waiting == 1 ? "1 waits" : fmt::format("{} wait", waiting),
                  waiting > 0 ? "; 'acid run RECIPE' continues all runs of a recipe, 'acid resume' "
                                "all interrupted runs; --wait waits until they are continued"
                              : ""));
}

Exit print(const WatchedRuns& watched, const WatchOptions& options) {
  // Runs that were named or waited for are shown in any state, else only active ones.
  std::vector<WatchedRun> shown;
  if (!options.names.empty() || options.wait)
    shown = watched.runs();
  else if (watched.at_work())
    shown = watched.active();
  if (options.format.json) {
    nlohmann::json runs = nlohmann::json::array();
    for (const WatchedRun& run : shown) runs.push_back(to_json(run));
    nlohmann::json hosts = nlohmann::json::array(), lost = nlohmann::json::array();
    for (const WatchedHost& host : watched.hosts()) hosts.push_back(to_json(host));
    for (const LostAttempt& one : watched.lost()) lost.push_back(to_json(one));
    print_json({{"active", watched.at_work()}, {"runs", runs}, {"hosts", hosts}, {"lost", lost}});
    return Exit::ok;
  }
  // Waiting runs are only counted.
  const bool counted = options.names.empty() && !options.wait && watched.at_work();
  if (counted) shown = watched.going();
  if (watched.has_several_hosts()) {
    for (const std::string& line : to_lines(watched.hosts(), watched.lost(), kAllLines, kAllLines,
                                            colour_on_standard_output()))
      print_data(line + "\n");
    if (!shown.empty()) print_data("\n");
  }
  if (!shown.empty())
    for (const std::string& line : to_lines(shown, kAllLines, colour_on_standard_output()))
      print_data(line + "\n");
  if (counted && shown.size() < watched.runs().size()) print_data(watched.counts() + "\n");
  if (watched.running() == 0 && !options.wait) say_nothing_runs(watched);
  return Exit::ok;
}

// Draws over the lines that were drawn last, whose number it replaces.
void draw(std::size_t& drawn, const WatchedRuns& watched) {
  const ScreenSize size = screen_size(STDOUT_FILENO);
  auto rows = static_cast<std::size_t>(std::max(1, size.rows - 3));
  std::vector<std::string> lines;
  if (watched.has_several_hosts()) {
    lines = to_lines(watched.hosts(), watched.lost(), rows / 2, size.columns,
                     colour_on_standard_output());
    lines.emplace_back();
    rows -= std::min(rows - 1, lines.size());
  }
  const std::vector<std::string> runs =
      to_lines(watched.on_screen(rows), size.columns, colour_on_standard_output());
  lines.insert(lines.end(), runs.begin(), runs.end());
  lines.push_back(watched.counts().substr(0, static_cast<std::size_t>(size.columns)));
  std::string text = drawn > 0 ? fmt::format("\r\x1b[{}A", drawn) : "";
  for (const std::string& line : lines) text += seen_on_terminal(line) + "\x1b[K\n";
  text += "\x1b[J";  // erases what stood below
  print_raw(text);   // in one piece, so that lines do not flicker
  flush_data();
  drawn = lines.size();
}

// Whether watching ends by itself. A page stays readable after the last run, unless --wait is
// given.
bool over(const WatchedRuns& watched, const WatchOptions& options) {
  if (options.wait) return watched.running() + watched.waiting() == 0;
  return !options.html && watched.idle();
}

Exit stop_watching() {
  say("watching ended; the runs go on");
  return Exit::ok;
}

// Watches until it is over, or until a signal asks to end. `server` may be null.
Exit watch_live(WatchedRuns& watched, const WatchOptions& options, PageServer* server) {
  const bool draws = !options.format.json && isatty(STDOUT_FILENO) == 1;
  EndSignals end;
  if (server != nullptr) server->start();
  std::size_t drawn = 0;
  double cost = 0;
  while (true) {
    if (draws) draw(drawn, watched);
    if (over(watched, options)) {
      if (server != nullptr && server->asked_within(kSecondsForLastPage) &&
          end.come_within(kSecondsForLastPage))
        return stop_watching();
      return draws ? Exit::ok : print(watched, options);
    }
    if (end.come_within(std::max(kSecondsBetweenLooks, cost / kLargestShare)))
      return stop_watching();
    if (!draws && !options.wait) continue;  // only the page is looked at
    const double begun = cpu_seconds();
    watched.look();
    cost = cpu_seconds() - begun;
  }
}

// The server outlives EndSignals: should its end take long, another ^C ends the process.
Exit watch_in_browser(const Session& session, WatchedRuns& watched, const WatchOptions& options) {
  std::vector<std::string> ids;
  for (const WatchedRun& run : watched.runs()) ids.push_back(run.summary.id);
  PageServer server(session.store_folder, ids, options.port);
  const EndSignals from_here_on;  // so that the file that opens the browser is removed at the end
  print_data(server.address() + "\n");
  flush_data();
  say("The address works once, in one browser on this machine; ^C ends watching, the runs go on.");
  std::optional<OpenedAddress> opened;
  try {
    if (options.open) opened.emplace(server.address());
  } catch (const Error& error) {
    say(error.what());  // the address can be opened by hand
  }
  return watch_live(watched, options, &server);
}

Exit watch(const Session& session, const WatchOptions& options) {
  const Store store(session.store_folder, Store::Access::read);
  WatchedRuns watched(store, resolve_runs(store, options.names).ids);
  watched.look();
  if (options.html) return watch_in_browser(session, watched, options);
  const bool terminal = !options.format.json && isatty(STDOUT_FILENO) == 1;
  const bool live = options.wait || (terminal && !options.once && !watched.idle());
  return live ? watch_live(watched, options, nullptr) : print(watched, options);
}

void add_page_options(CLI::App& command, WatchOptions& options) {
  CLI::Option* html = command.add_flag(
      "--html", options.html,
      "Show the report page in a browser on this machine, where it follows the runs; print its "
      "address, which works once; go on until ^C, or with --wait until every run has ended");
  add_value(command, "--port", options.port, "N",
            "For --html: listen there (default: any free port)")
      ->check(CLI::Range(1, 65535))
      ->needs(html);
  command.add_flag("--open", options.open, "For --html: open the address in the browser")
      ->needs(html);
  html->excludes("--once")->excludes("--json");
}

}  // namespace

void add_watch_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<WatchOptions>(
      app, session, "watch",
      "Watch runs while they go on, in this or any other terminal; ^C ends only that", watch);
  add_runs_argument(command, "RUNS", options.names,
                    " (default: what is active of the newest experiment)");
  CLI::Option* once = command.add_flag(
      "--once", options.once, "Print one table and exit, as is done where there is no terminal");
  command
      .add_flag("--wait", options.wait,
                "Go on until every run has ended, also while none is running; where there is no "
                "terminal, print the table then")
      ->excludes(once);
  add_json_option(command, options.format);
  add_page_options(command, options);
  add_store_option(command, session);
}

}  // namespace acid
