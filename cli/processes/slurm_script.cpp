#include "cli/processes/slurm_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/terminal/session.hpp"

namespace acid {
namespace {

// The value as one word of an #SBATCH line, in which double quotes and backslashes are special.
std::string quoted(const std::string& value) {
  if (value.find_first_of(" \t\"\\'#") == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
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
  script.option("output", job.log);
  script.add("#SBATCH --open-mode=append");
  script.add("# One job of this name at a time: a second one goes on where the first has stopped.");
  script.add("#SBATCH --dependency=singleton");
  script.add("# After the loss of a node the job begins again, from what was saved.");
  script.add("#SBATCH --requeue");
  script.add(fmt::format("# {} s before the time limit, to this script only.", job.save_seconds));
  script.add(fmt::format("#SBATCH --signal=B:USR1@{}", job.save_seconds));
  for (const std::string& line : job.extra) script.add("#SBATCH " + one_line(line));
}

void add_command(Lines& script, const SlurmJob& job) {
  std::vector<std::string> words;
  for (const std::string& word : job.command) words.push_back(quoted_for_shell(word));
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

std::string slurm_script(const SlurmJob& job) {
  Lines script;
  script.add("#!/bin/bash");
  script.add(fmt::format("# Written by 'acid submit' for {}. It can be changed and given to",
                         one_line(job.origin)));
  script.add("# sbatch by hand. Submitting it again goes on with what has not finished.");
  add_options(script, job);
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
