#include "cli/terminal/session.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "store/existing_store.hpp"
#include "store/tags.hpp"

namespace acid {
namespace {

[[noreturn]] void fail(const char* doing, const std::string& what) {
  throw Error(fmt::format("cannot {} {}: {}", doing, what, std::strerror(errno)));
}

}  // namespace

Exit worse(Exit a, Exit b) {
  constexpr std::array kBadness{Exit::ok,       Exit::run_failed, Exit::usage,
                                Exit::mismatch, Exit::store,      Exit::interrupted};
  const auto badness = [&](Exit exit) { return std::find(kBadness.begin(), kBadness.end(), exit); };
  return badness(a) < badness(b) ? b : a;
}

Session::Session(int argc, char** argv) {
  const char* environment = std::getenv("ACID_STORE");
  store_folder = environment != nullptr && *environment != '\0' ? environment : "acid-store";
  command_line = "acid";
  for (int i = 1; i < argc; ++i) command_line += " " + quoted_for_shell(argv[i]);
}

std::string wrong_if_empty(const std::string& name) {
  return name.empty() ? "an empty name names no file" : "";
}

CLI::App& add_command(CLI::App& app, Session& session, const char* name, const char* help,
                      std::function<Exit()> execute) {
  CLI::App& command = *app.add_subcommand(name, help);
  command.callback([&command, &session, execute = std::move(execute)] {
    if (command.get_subcommands().empty()) session.action = execute;
  });
  return command;
}

CLI::Option* add_runs_argument(CLI::App& command, const char* name, std::vector<std::string>& runs,
                               const char* by_default) {
  return add_argument(command, name, runs,
                      std::string("Runs or experiments: ids, prefixes, an experiment's name, "
                                  "@latest") +
                          by_default);
}

void add_store_option(CLI::App& command, Session& session) {
  add_value(command, "--store", session.store_folder, "DIR",
            "Folder of the store (default: $ACID_STORE, else ./acid-store)")
      ->check(wrong_if_empty);
}

void add_where_option(CLI::App& command, std::vector<std::string>& where) {
  add_repeated(command, "--where", where, "CONDITION",
               "Only runs for which this condition holds, of settings by their keys and of\n"
               "columns of the view run_list, as in \"topology.kind = ring AND workers > 8\";\n"
               "may be given several times");
  command
      .add_option_function<std::vector<std::string>>(
          "--tag",
          [&where](const std::vector<std::string>& tags) {
            for (const std::string& tag : tags) where.push_back(has_tag(tag));
          },
          "Only runs with this tag, their own or of an experiment that asks for them; may be\n"
          "given several times")
      ->type_name("TAG")
      ->take_all()
      ->allow_extra_args(false);
}

void add_json_option(CLI::App& command, Format& format) {
  command.add_flag("--json", format.json, "Print JSON");
}

void add_table_options(CLI::App& command, Format& format) {
  CLI::Option* json = command.add_flag("--json", format.json, "Print JSON");
  CLI::Option* csv = command.add_flag("--csv", format.csv, "Print comma-separated values");
  CLI::Option* markdown = command.add_flag("--markdown", format.markdown, "Print a Markdown table");
  csv->excludes(json);
  markdown->excludes(json)->excludes(csv);
}

void print_data(std::string_view data) {
  static const bool terminal = isatty(STDOUT_FILENO) == 1;
  const std::string seen = terminal ? seen_on_terminal(data) : std::string();
  print_raw(terminal ? seen : data);
}

void print_raw(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    fail("write to", "standard output");
}

void print_json(nlohmann::json document, int indent) {
  document.emplace("schema_version", kJsonSchemaVersion);
  // Text from outside (a worker's output) may not be UTF-8; a document always is.
  print_data(document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void flush_data() {
  if (std::fflush(stdout) != 0) fail("write to", "standard output");
}

void say_raw(std::string_view text) {
  // A failure to write to standard error cannot be reported.
  if (std::fwrite(text.data(), 1, text.size(), stderr) == text.size()) std::fflush(stderr);
}

void say(std::string_view message) { say_raw(seen_on_terminal(message) + "\n"); }

bool standard_error_is_terminal() { return isatty(STDERR_FILENO) == 1; }

bool colour_on_standard_output() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0');
}

ScreenSize screen_size(int descriptor) {
  ScreenSize size;
  winsize found{};
  if (ioctl(descriptor, TIOCGWINSZ, &found) != 0) return size;
  if (found.ws_col > 0) size.columns = found.ws_col;
  if (found.ws_row > 0) size.rows = found.ws_row;
  return size;
}

TextLines lines_of_standard_output() {
  return {screen_size(STDOUT_FILENO).columns, isatty(STDOUT_FILENO) == 1};
}

OutputFile::OutputFile(const std::string& path) {
  if (path == "-") return;
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_symlink(path, ignored) && !fs::exists(path, ignored))
    throw Error(
        fmt::format("cannot create {}: it is a link to {}, which does not exist; remove the "
                    "link, or name another file",
                    path, fs::read_symlink(path, ignored).string()));
  const fs::path followed =
      fs::weakly_canonical(path, ignored);  // a link stays, its target changes
  path_ = followed.empty() ? path : followed.string();
  if (const std::string store = store_that_keeps(fs::absolute(path_, ignored)); !store.empty())
    throw UsageError(fmt::format("{} belongs to the store {}; name another file", path, store));
  const fs::file_status before = fs::status(path_, ignored);
  const bool special = fs::exists(before) && !fs::is_regular_file(before);
  // A device or a pipe is written to, never replaced.
  if (!special) temporary_ = fmt::format("{}.{}.partial", path_, getpid());
  file_ = std::fopen(special ? path_.c_str() : temporary_.c_str(), "wb");
  if (file_ == nullptr) fail("create", path_);
  if (fs::is_regular_file(before)) fs::permissions(temporary_, before.permissions(), ignored);
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());  // after commit() it is renamed already
}

void OutputFile::write(std::string_view text) {
  if (file_ == nullptr) return print_data(text);
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("write", path_);
}

void OutputFile::commit() {
  if (file_ == nullptr) return;
  if (std::fflush(file_) != 0) fail("write", path_);
  if (temporary_.empty()) return;
  if (fsync(fileno(file_)) != 0) fail("write", path_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("replace", path_);
}

void require_can_write(const std::string& path) {
  std::error_code ignored;
  const auto before = std::filesystem::status(path, ignored);
  if (std::filesystem::is_other(before)) return;  // a pipe's reader would see it end
  const OutputFile begun(path);
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace acid
