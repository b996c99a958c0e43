#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace acid {

/// What a batch job of Slurm runs and requests. Empty texts and zeros leave the choice to Slurm.
struct SlurmJob {
  std::string name;         // jobs of a user with one name run one after another, unless `array`
  std::string origin;       // the recipe as the user named it
  std::string recipe;       // where the job writes its copy of the recipe, an absolute path
  std::string recipe_text;  // of that copy
  std::vector<std::string> command;

  int array = 0;  // tasks that share the runs; 0: no array
  int tasks = 1;
  int tasks_per_node = 0;
  int cores_per_task = 0;
  int gpus_per_task = 0;
  int nodes = 0;
  std::string partition, account, time;
  std::vector<std::string> extra;  // lines of sbatch options, as given

  std::string prologue_file, prologue;  // lines for the shell before the command, and their file
  std::string scratch;                  // folder for copies of data files; may hold $VARIABLES
  int save_seconds = 120;               // before the time limit
  bool until_finished = false;          // queued again when the time limit interrupted it
};

/// A time limit as sbatch takes it: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
/// days-hours:minutes or days-hours:minutes:seconds. In seconds, rounded up to minutes as Slurm
/// does; 0: no limit. Nothing if it is none of these.
std::optional<std::int64_t> slurm_seconds(const std::string& time);

/// A batch script in bash that a user can read, change and submit: it holds all that the job needs
/// but the data files. The job saves the current runs when it is told to stop (SIGTERM to the batch
/// shell, as from 'scancel --batch --signal=TERM' or a plain scancel) and `save_seconds` before its
/// time limit, and goes on from there when it is submitted or queued again. Its exit code is the
/// command's.
std::string slurm_script(const SlurmJob& job);

}  // namespace acid
