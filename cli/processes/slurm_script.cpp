#include "cli/processes/slurm_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>
#include <string_view>

#include "cli/terminal/session.hpp"
#include "engine/base/names.hpp"

namespace acid {
namespace {

// In double quotes, with a backslash before each of these characters.
std::string in_quotes(const std::string& text, std::string_view special) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// The value as one word of an #SBATCH line.
std::string quoted(const std::string& value) {
  const bool plain = value.find_first_of(" \t\"\\'#") == std::string::npos;
  return plain ? value : in_quotes(value, "\"\\");
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

class Lines {
 public:
  void add(const std::string& line) { text_ += line + "\n"; }
  void option(const char* name, const std::string& value) {
    if (!value.empty()) add(fmt::format("#SBATCH --{}={}", name, quoted(value)));
  }
  void option(const char* name, int value) {
    if (value > 0) add(fmt::format("#SBATCH --{}={}", name, value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_options(Lines& script, const SlurmJob& job) {
  script.option("job-name", job.name);
  script.option("partition", job.partition);
  script.option("account", job.account);
  script.option("time", job.time);
  script.option("nodes", job.nodes);
  script.option("ntasks", job.tasks);
  script.option("ntasks-per-node", job.tasks_per_node);
  script.option("cpus-per-task", job.cores_per_task);
  script.option("gpus-per-task", job.gpus_per_task);
  script.add("#SBATCH --open-mode=append");
  if (job.array > 0) {
    script.add("# The tasks share the runs: each takes what no other has.");
    script.add(fmt::format("#SBATCH --array=1-{}", job.array));
  } else {
    script.add("# One job of this name at a time: a second goes on where the first has stopped.");
    script.add("#SBATCH --dependency=singleton");
  }
  script.add("# After the loss of a node the job begins again, from what was saved.");
  script.add("#SBATCH --requeue");
  script.add(fmt::format("# {} s before the time limit, to this script only.", job.save_seconds));
  script.add(fmt::format("#SBATCH --signal=B:USR1@{}", job.save_seconds));
  for (const std::string& line : job.extra) script.add("#SBATCH " + one_line(line));
}

// A line that the text does not have, to end it in the script.
std::string end_of(const std::string& text) {
  std::string end = "END-OF-RECIPE";
  while (text.find(end) != std::string::npos) end += "-";
  return end;
}

// The recipe appears as a whole or not at all, also where several tasks write it at once. head cuts
// off the newline that a text without one gets here.
void add_recipe(Lines& script, const SlurmJob& job) {
  const std::string end = end_of(job.recipe_text);
  script.add("# The recipe, as it was when this script was written.");
  script.add(fmt::format("recipe={}", quoted_for_shell(job.recipe)));
  script.add("mkdir -p \"$(dirname \"$recipe\")\"");
  script.add(fmt::format("head -c {} >\"$recipe.$SLURM_JOB_ID\" <<'{}' || exit",
                         job.recipe_text.size(), end));
  script.add(job.recipe_text + (job.recipe_text.ends_with('\n') ? "" : "\n") + end);
  script.add("mv -f \"$recipe.$SLURM_JOB_ID\" \"$recipe\"");
}

void add_surroundings(Lines& script, const SlurmJob& job) {
  if (!job.prologue_file.empty()) {
    script.add("");
    script.add(
        "trap 'echo \"The prologue'\\''s command \\\"$BASH_COMMAND\\\" failed (exit code $?).\" "
        ">&2' ERR");
    script.add(fmt::format("# From {}:", one_line(job.prologue_file)));
    script.add(job.prologue.substr(0, job.prologue.find_last_not_of('\n') + 1));
    script.add("");
    script.add("trap - ERR");
  }
  if (!job.scratch.empty()) {
    script.add("");
    script.add("# Each node reads its own copies of the data files.");
    // Variables in it are still replaced.
    script.add(fmt::format("export ACID_SCRATCH={}", in_quotes(job.scratch, "\"\\`")));
  }
}

void add_command(Lines& script, const SlurmJob& job) {
  std::vector<std::string> words;
  for (const std::string& word : job.command) words.push_back(quoted_for_shell(word));
  if (job.array > 0)
    words.push_back(fmt::format("--share \"${{SLURM_ARRAY_TASK_ID:-1}}/{}\"", job.array));
  script.add("# SIGTERM makes acid save what runs. This script waits until it has.");
  script.add("told= out_of_time=");
  script.add("tell() { told=yes; [ -z \"$!\" ] || kill -TERM \"$!\"; }");
  script.add("trap tell TERM");
  script.add("trap 'out_of_time=yes; tell' USR1");
  script.add(fmt::format("{} &", fmt::join(words, " ")));
  script.add("acid=$!");
  script.add("[ -z \"$told\" ] || tell  # SIGTERM may have come before acid started.");
  script.add("until wait \"$acid\"; code=$?; ! kill -0 \"$acid\" 2>/dev/null; do :; done");
}

}  // namespace

std::optional<std::int64_t> slurm_seconds(const std::string& time) {
  static const std::regex form(R"((?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?)");
  std::smatch match;
  if (!std::regex_match(time, match, form)) return std::nullopt;
  const auto number = [&](std::size_t k) -> std::int64_t {
    return match[k].matched ? std::stoll(match[k]) : 0;
  };
  // Without days, one or two numbers are minutes and seconds.
  const bool has_hours = match[1].matched || match[4].matched;
  const std::int64_t minutes =
      has_hours ? (24 * number(1) + number(2)) * 60 + number(3) : number(2);
  const std::int64_t seconds = minutes * 60 + number(has_hours ? 4 : 3);
  return (seconds + 59) / 60 * 60;
}

std::string slurm_script(const SlurmJob& job) {
  Lines script;
  script.add("#!/bin/bash");
  script.add(fmt::format("# Written by 'acid submit' for {}. It can be changed and given to",
                         one_line(job.origin)));
  script.add("# sbatch by hand. Submitting it again goes on with what has not finished.");
  add_options(script, job);
  script.add("");
  add_recipe(script, job);
  add_surroundings(script, job);
  script.add("");
  add_command(script, job);
  script.add("");
  script.add("if [ -n \"$out_of_time\" ] && [ \"$code\" -eq 130 ]; then");
  if (job.until_finished) {
    script.add("  echo \"The time limit came; what runs is saved, and the job queues again.\"");
    script.add("  scontrol requeue \"$SLURM_JOB_ID\"");
  } else {
    script.add("  echo \"The time limit came; what runs is saved. Submit again to go on.\"");
  }
  script.add("fi");
  script.add("exit \"$code\"");
  return script.text();
}

}  // namespace acid
