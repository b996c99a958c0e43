#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.hpp"
#include "reports/text_table.hpp"

namespace CLI {
class App;
}

namespace acid {

/// Version of every JSON document on standard output. New keys do not change it.
inline constexpr int kJsonSchemaVersion = 1;

/// Which of two exit codes tells more: an interruption, then a store problem, a mismatch, bad
/// usage, a failed run.
Exit worse(Exit a, Exit b);

/// One invocation of the program.
struct Session {
  std::string store_folder;      // --store, else ACID_STORE, else ./acid-store
  std::string command_line;      // as typed, quoted for a shell
  std::function<Exit()> action;  // what the command does; empty: nothing

  Session(int argc, char** argv);
};

/// How a table is printed. At most one of the flags is set.
struct Format {
  bool json = false;
  bool csv = false;
  bool markdown = false;
};

void add_store_option(CLI::App& command, Session& session);
/// --where, conditions of store/condition.hpp, and --tag, which adds such conditions.
void add_where_option(CLI::App& command, std::vector<std::string>& where);
/// A check for an option that names a file: what is wrong with it, or "" when it is right.
std::string wrong_if_empty(const std::string& name);
void add_json_option(CLI::App& command, Format& format);
/// --json, --csv and --markdown.
void add_table_options(CLI::App& command, Format& format);

/// Prints data on standard output; on a terminal as seen_on_terminal(). Throws Error when it cannot
/// be written.
void print_data(std::string_view text);
/// Prints what acid itself draws on a terminal, unchanged.
void print_raw(std::string_view text);
/// Prints an object with its "schema_version" and a newline; NaN and infinities become null.
/// `indent` −1: all on one line.
void print_json(nlohmann::json document, int indent = 2);
/// Makes sure that everything printed has reached its destination. Throws Error when it has not.
void flush_data();
/// Prints a message for the user: one line on standard error, as seen_on_terminal(). Never throws
/// when there is no reader.
void say(std::string_view message);
/// As print_raw(), on standard error.
void say_raw(std::string_view text);

bool standard_error_is_terminal();
/// Colour on standard output: only on a terminal, and never when NO_COLOR is set.
bool colour_on_standard_output();
/// Of the terminal on a descriptor; as here where it is not known.
struct ScreenSize {
  int columns = 80, rows = 24;
};
ScreenSize screen_size(int descriptor);
/// The lines of the terminal on standard output; if there is none, lines of a file: 80 columns, not
/// cut.
TextLines lines_of_standard_output();

/// A file that appears only once it is complete: a sibling temporary file, renamed by commit(). The
/// path "-" is standard output. Every failure is an Error naming the path; without commit() nothing
/// is left behind.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  std::string path_, temporary_;  // no temporary: path_ is a device or a pipe
  std::FILE* file_ = nullptr;     // nullptr: standard output
};
/// Throws, as OutputFile does, where no such file can be begun; for a command that has long to do
/// before it writes one.
void require_can_write(const std::string& path);
/// Writes all of such a file.
void write_file(const std::string& path, std::string_view text);

}  // namespace acid
