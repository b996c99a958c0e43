// Properties of the source text itself: which layer may include which, where third-party headers
// may appear, sizes, and words that must not occur.
#include <map>
#include <set>

#include "tests/catch.hpp"
#include "tests/tidy/sources.hpp"

namespace {

using namespace tidy;

// What every family of drivers may include, but no other family.
const Prefixes kUnderDrivers{"engine/base/",   "engine/recorder/",      "engine/topology/",
                             "engine/codecs/", "engine/language/",      "engine/methods/",
                             "engine/worker/", "engine/checkpoint/",    "engine/transport/",
                             "engine/run/",    "engine/drivers/shared/"};

// Folder → the folders that it may include, besides itself. The longest matching folder counts.
const std::map<std::string, Prefixes> kMayInclude{
    {"engine/base/", {}},
    {"engine/environment/", {"engine/base/"}},
    {"engine/recorder/", {"engine/base/"}},
    {"engine/topology/", {"engine/base/"}},
    {"engine/worker/", {"engine/base/"}},
    {"engine/cuda/", {"engine/base/", "engine/worker/"}},
    {"engine/language/", {"engine/base/", "engine/worker/", "engine/codecs/"}},
    {"engine/codecs/", {"engine/base/", "engine/worker/"}},
    {"engine/methods/",
     {"engine/base/", "engine/topology/", "engine/worker/", "engine/language/", "engine/codecs/"}},
    {"engine/python/", {"engine/base/", "engine/worker/"}},
    {"engine/checkpoint/", {"engine/base/", "engine/recorder/", "engine/worker/"}},
    {"engine/data/",
     {"engine/base/", "engine/checkpoint/safetensors_file.hpp", "engine/python/",
      "engine/worker/objective.hpp"}},
    {"engine/models/", {"engine/base/", "engine/python/", "engine/data/", "engine/worker/"}},
    {"engine/transport/", {"engine/base/"}},
    {"engine/run/",
     {"engine/base/", "engine/recorder/", "engine/topology/", "engine/methods/", "engine/worker/",
      "engine/checkpoint/", "engine/codecs/", "engine/language/"}},
    {"engine/drivers/shared/", kUnderDrivers},
    {"engine/drivers/virtual/", kUnderDrivers},
    {"engine/drivers/threads/", kUnderDrivers},
    {"engine/drivers/mpi/", kUnderDrivers},
    {"engine/drivers/replay/", kUnderDrivers},
    {"engine/drivers/", {"engine/"}},
    {"settings/", {"engine/"}},
    {"recipes/",
     {"settings/", "engine/base/", "engine/recorder/", "engine/topology/", "engine/methods/",
      "engine/data/", "engine/models/", "engine/drivers/virtual/"}},
    {"store/", {"engine/base/", "engine/recorder/"}},
    {"reports/",
     {"settings/", "store/", "engine/base/", "engine/recorder/", "engine/topology/",
      "engine/methods/"}},
    {"exports/", {"settings/", "store/", "reports/", "engine/base/", "engine/recorder/"}},
    {"worker/", {"engine/", "settings/", "recipes/", "store/", "exports/final_model.hpp"}},
    {"cli/terminal/", {"engine/base/", "engine/methods/", "store/", "reports/"}},
    {"cli/processes/", {"cli/terminal/", "engine/", "settings/", "store/", "reports/"}},
    {"cli/http/", {"engine/base/", "engine/transport/"}},
    {"cli/watch/",
     {"cli/terminal/", "cli/processes/", "cli/http/", "engine/base/", "store/", "reports/"}},
    {"cli/doctor/", {"cli/terminal/", "cli/processes/", "engine/", "store/", "reports/"}},
    {"cli/", {"engine/", "settings/", "recipes/", "store/", "reports/", "exports/"}},
    {"bench/",
     {"engine/", "settings/", "recipes/", "store/", "reports/", "exports/", "worker/", "cli/"}},
    {"tests/",
     {"engine/", "settings/", "recipes/", "store/", "reports/", "exports/", "worker/", "cli/",
      "bench/"}},
};

// Third-party header → the only places that may include it.
const std::map<std::string, Prefixes> kConfined{
    {"asmjit/",
     {"engine/language/emission.hpp", "engine/language/x86_machine.hpp",
      "engine/language/a64_machine.hpp", "engine/language/machine_function.hpp"}},
    {"mpi.h", {"engine/transport/", "tests/transport/", "bench/exchange_program.cpp"}},
    {"nccl.h", {"engine/transport/"}},
    {"cuda", {"engine/cuda/", "engine/transport/nccl_module.cpp"}},
    {"sqlite3.h", {"store/"}},
    {"toml++/", {"recipes/", "engine/methods/listing_files.cpp"}},
    {"CLI/", {"cli/", "worker/main.cpp", "bench/"}},
    {"httplib.h", {"tests/cli/watch_html_test.cpp"}},
    {"torch/", {"engine/models/torch"}},
    {"ATen/", {"engine/models/torch", "bench/torch_kernels.cpp"}},
    {"jpeglib.h", {"engine/data/jpeg_file.cpp", "tests/data/images.hpp"}},
    {"png.h", {"engine/data/png_file.cpp", "tests/data/images.hpp"}},
    {"zip.h", {"exports/zip.cpp"}},
    {"Eigen/", {"engine/topology/", "tests/"}},
    {"Spectra/", {"engine/topology/"}},
    {"catch2/", {"tests/catch.hpp", "tests/main.cpp"}},
};

struct Forbidden {
  Pattern pattern;
  const char* reason;
};
// Each pattern is written so that it does not match its own line.
const Forbidden kForbidden[] = {
    {Pattern("\\b(TO[D]O|FIX[M]E|XX[X])\\b"), "finish it or leave it out"},
    {Pattern("std::[a-z_]+_dis[t]ribution"), "they differ between standard libraries"},
    {Pattern("std::random_devic[e]"), "everything is seeded"},
    {Pattern("\\b(std::)?s?ran[d]\\("), "everything is seeded"},
    {Pattern("high_resolution_cloc[k]"), "it is the system clock here; use SteadyClock"},
    {Pattern("TEST_CASE\\(\"[^\"]*[;]"), "CMake cuts the name there, and ctest runs nothing"},
};

constexpr std::size_t kMostColumns = 100;
constexpr std::size_t kMostFileLines = 400;
constexpr std::size_t kMostFunctionLines = 70;

// Calls visit(where, header) for every include of a source.
template <typename Visit>
void for_each_include(const Source& source, const Visit& visit) {
  static const Pattern include(R"(^ *# *include *[<"]([^>"]+)[>"])");
  for (std::size_t i = 0; i < source.lines.size(); ++i)
    if (const std::string header = include.captured_in(source.lines[i]); !header.empty())
      visit(source.path + ":" + std::to_string(i + 1), header);
}

const std::pair<const std::string, Prefixes>* layer_of(const std::string& path) {
  const std::pair<const std::string, Prefixes>* best = nullptr;
  for (const auto& layer : kMayInclude)
    if (starts_with(path, layer.first) && (!best || layer.first.size() > best->first.size()))
      best = &layer;
  return best;
}

// One column per code point; the sources have no wide characters.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t indentation(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// The line on which the statement that ends at line `last` begins: where its brackets balance.
std::size_t first_line_of(const Source& source, std::size_t last) {
  std::ptrdiff_t open = 0;
  for (std::size_t i = last + 1; i-- > 0;) {
    const std::string& line = source.lines[i];
    open += std::count(line.begin(), line.end(), ')') - std::count(line.begin(), line.end(), '(');
    if (open <= 0) return i;
  }
  return 0;
}

// The longest function, in the form that clang-format writes: a function opens with a line that
// ends its parameter list, begins at the margin or one step into a class, and ends with a lone
// brace below its beginning.
std::size_t longest_function(const Source& source, std::size_t& where) {
  static const Pattern opens(R"(\)( const| noexcept| override)* \{$)");
  static const Pattern statement(R"(^ *(if|for|while|switch|else|do|catch|\}))");
  std::size_t longest = 0;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    if (!opens.is_in(source.lines[i])) continue;
    const std::size_t begin = first_line_of(source, i);
    const std::size_t margin = indentation(source.lines[begin]);
    if (margin > 2 || statement.is_in(source.lines[begin])) continue;
    std::size_t end = i + 1;
    while (end < source.lines.size() &&
           (source.lines[end].empty() || indentation(source.lines[end]) > margin))
      ++end;
    if (end == source.lines.size() || source.lines[end] != std::string(margin, ' ') + "}") continue;
    if (end - begin + 1 > longest) {
      longest = end - begin + 1;
      where = begin + 1;
    }
  }
  return longest;
}

}  // namespace

TEST_CASE("the source tree is where the tidy test looks for it") { CHECK(sources().size() > 50); }

TEST_CASE("the tidy test measures functions, inside classes too, and leaves statements alone") {
  const auto measured = [](std::vector<std::string> lines) {
    std::size_t where = 0;
    return longest_function({"example.cpp", std::move(lines)}, where);
  };
  CHECK(measured({"int f(int a) {", "  if (a) {", "  }", "  return 1;", "}"}) == 5);
  CHECK(measured({"struct S {", "  int g() const {", "    return 1;", "  }", "};"}) == 3);
  CHECK(measured({"void f(int first,", "       int second) noexcept {", "}"}) == 3);
  CHECK(measured({"  call([&](int a) {", "    use(a);", "  });", "  }"}) == 0);
  CHECK(measured({"  for (int i = 0; i < 9; ++i) {", "    use(i);", "  }"}) == 0);
  CHECK(measured({"namespace n {", "", "", "}"}) == 0);
}

TEST_CASE("every folder includes only the layers below it") {
  for (const Source& source : sources()) {
    const auto* layer = layer_of(source.path);
    INFO(source.path << " is in a folder that states no layer");
    REQUIRE(layer != nullptr);
    for_each_include(source, [&](const std::string& where, const std::string& header) {
      if (layer_of(header) == nullptr) return;  // the standard library or a third party's
      INFO(where << " includes " << header);
      CHECK((starts_with(header, layer->first) || starts_with_any(header, layer->second)));
    });
  }
}

// The real includes, not those that the table above allows: folder → folders.
std::map<std::string, std::set<std::string>> folder_graph() {
  std::map<std::string, std::set<std::string>> arrows;
  for (const Source& source : sources()) {
    const std::string folder = fs::path(source.path).parent_path().generic_string();
    if (starts_with(folder, "tests")) continue;
    for_each_include(source, [&](const std::string&, const std::string& header) {
      const std::string other = fs::path(header).parent_path().generic_string();
      if (layer_of(header) != nullptr && other != folder) arrows[folder].insert(other);
    });
  }
  return arrows;
}

TEST_CASE("the folders' includes run one way, without a circle") {
  auto arrows = folder_graph();
  std::string graph;
  for (const auto& [folder, others] : arrows) {
    graph += "\n  " + folder + " ->";
    for (const std::string& other : others) graph += " " + other;
  }
  WARN("what each folder includes:" << graph);
  // Removes folders that include nothing of the rest, until none is left.
  while (!arrows.empty()) {
    const auto is_below = [&](const auto& entry) {
      return std::ranges::none_of(entry.second,
                                  [&](const std::string& other) { return arrows.contains(other); });
    };
    const auto lowest = std::ranges::find_if(arrows, is_below);
    INFO("among the folders of a circle: " << arrows.begin()->first);
    REQUIRE(lowest != arrows.end());
    arrows.erase(lowest);
  }
}

TEST_CASE("third-party headers stay where they are confined") {
  for (const Source& source : sources())
    for_each_include(source, [&](const std::string& where, const std::string& header) {
      for (const auto& [confined, homes] : kConfined) {
        if (!starts_with(header, confined)) continue;
        INFO(where << " includes " << header);
        CHECK(starts_with_any(source.path, homes));
      }
    });
}

TEST_CASE("what is joined includes the header that fmt has it in since version 11") {
  const std::string use = "fmt::joi", include = "#include <fmt/ranges.h>";
  for (const Source& source : sources()) {
    INFO(source.path);
    const auto has = [&](const std::string& text) {
      return std::ranges::any_of(source.lines, [&](const std::string& line) {
        return line.find(text) != std::string::npos;
      });
    };
    CHECK((has(include) || !has(use + "n(")));
  }
}

TEST_CASE("lines, functions and files stay short enough to read") {
  for (const Source& source : sources()) {
    INFO(source.path);
    CHECK(source.lines.size() <= kMostFileLines);
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      if (columns(source.lines[i]) > kMostColumns)
        FAIL_CHECK("line " << i + 1 << " has " << columns(source.lines[i]) << " columns");
    if (starts_with(source.path, "tests/")) continue;  // a test case may be longer
    std::size_t where = 0;
    const std::size_t longest = longest_function(source, where);
    INFO("the function at line " << where << " has " << longest << " lines");
    CHECK(longest <= kMostFunctionLines);
  }
}

TEST_CASE("no source holds a word that must not occur") {
  for (const Source& source : sources())
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      for (const Forbidden& forbidden : kForbidden)
        if (forbidden.pattern.is_in(source.lines[i]))
          FAIL_CHECK(source.path << ":" << i + 1 << ": " << source.lines[i] << " ("
                                 << forbidden.reason << ")");
}

// The captures of `pattern` in lines of the sources under `prefix`.
std::set<std::string> captured(const std::string& prefix, const Pattern& pattern) {
  std::set<std::string> found;
  for (const Source& source : sources()) {
    if (!starts_with(source.path, prefix)) continue;
    for (const std::string& line : source.lines)
      if (const std::string word = pattern.captured_in(line); !word.empty()) found.insert(word);
  }
  return found;
}

// Fails for every line that matches, except in sources under `exempt`.
void expect_nowhere(const Pattern& pattern, const Prefixes& exempt, const std::string& what) {
  for (const Source& source : sources()) {
    if (starts_with_any(source.path, exempt)) continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i)
      if (pattern.is_in(source.lines[i]))
        FAIL_CHECK(source.path << ":" << i + 1 << " " << what << ": " << source.lines[i]);
  }
}

std::string any_of(const std::set<std::string>& words) {
  std::string alternatives;
  for (const std::string& word : words) alternatives += (alternatives.empty() ? "" : "|") + word;
  return "(" + alternatives + ")";
}

// Code that needs a method's properties asks the method, so that a new method is one file.
TEST_CASE("only engine/methods names a method") {
  std::set<std::string> names;
  const fs::path listings = fs::path(SOURCE_ROOT) / "engine/methods/listings";
  for (const auto& listing : fs::directory_iterator(listings)) {
    std::string name = listing.path().stem().string();
    std::ranges::replace(name, '_', '-');
    names.insert(name);
  }
  REQUIRE(names.size() >= 20);
  expect_nowhere(Pattern("\"" + any_of(names) + "\\\\?\""), {"engine/methods/", "tests/", "bench/"},
                 "names a method");
}

// Neither as text nor as a member. Graphs and data are below methods and have names of their own.
TEST_CASE("only engine/methods names the numbers of a method") {
  const auto numbers = captured("engine/methods/", Pattern("Shown\\{\"(\\w+)\""));
  REQUIRE(numbers.contains("alpha_tilde"));
  const Pattern number("(\"|\\.|->)" + any_of(numbers) + "\\b");
  CHECK(number.is_in("run.plan[\"eta\"]"));
  CHECK(number.is_in("numbers->alpha_tilde;"));
  CHECK_FALSE(number.is_in("beta.etas"));
  expect_nowhere(number,
                 {"engine/methods/", "engine/topology/", "engine/data/", "tests/", "bench/"},
                 "names a method's number");
}

// A run's settings are read into a struct once, so that a misspelt key elsewhere is a compile
// error. The recipe compiler makes their JSON; reports compare it key by key, whichever version
// wrote it, and run_json.cpp shows it.
TEST_CASE("only settings/ reads a run's settings by key") {
  const std::string section =
      "(algorithm|budget|checkpoint|evaluation|execution|optimizer|record|streams|task|topology)";
  const std::string access = "\\b(at|value|find|contains|erase)\\(\"";
  const Pattern by_key("settings_?\\)?((\\.|->)" + access + "|\\[\")|" + access + section +
                       "\"|\\[\"" + section + "\"\\]|\"/" + section + "/");
  for (const char* found :
       {"run.settings.at(\"seed\")", "settings_[\"workers\"]", "whole.value(\"execution\", none)",
        "document[\"budget\"]", "json_pointer(\"/task/model\")"})
    CHECK(by_key.is_in(found));
  for (const char* other : {"settings.execution.driver", "kSettings[kind]", "at(\"/task\")"})
    CHECK_FALSE(by_key.is_in(other));
  expect_nowhere(by_key,
                 {"settings/", "recipes/digest.cpp", "recipes/execution", "recipes/resolve",
                  "reports/", "cli/terminal/run_json.cpp", "tests/", "bench/"},
                 "reads a setting by key");
}

TEST_CASE("every header guards itself and opens no namespace") {
  for (const Source& source : sources()) {
    if (fs::path(source.path).extension() != ".hpp") continue;
    INFO(source.path);
    REQUIRE(!source.lines.empty());
    CHECK(source.lines.front() == "#pragma once");
    for (const std::string& line : source.lines) CHECK_FALSE(starts_with(line, "using namespace"));
  }
}
