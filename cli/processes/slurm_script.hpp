#pragma once

#include <string>
#include <vector>

namespace acid {

/// What a batch job of Slurm runs and requests. Empty texts and zeros leave the choice to Slurm.
struct SlurmJob {
  std::string name;    // one job of a name and user runs at a time
  std::string origin;  // the recipe as the user named it
  std::string log;     // file name as sbatch takes it: %j is the job's number
  std::vector<std::string> command;

  int tasks = 1;
  int tasks_per_node = 0;
  int cores_per_task = 0;
  int nodes = 0;
  std::string partition, account, time;
  std::vector<std::string> extra;  // lines of sbatch options, as given

  int save_seconds = 120;       // before the time limit
  bool until_finished = false;  // queued again when the time limit interrupted it
};

/// A batch script in bash that a user can read, change and submit. The job saves the current runs
/// when it is told to stop (SIGTERM to the batch shell, as from 'scancel --batch --signal=TERM' or
/// a plain scancel) and `save_seconds` before its time limit, and goes on from there when it is
/// submitted or queued again. Its exit code is the command's.
std::string slurm_script(const SlurmJob& job);

}  // namespace acid
