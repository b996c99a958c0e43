#pragma once

#include <string>
#include <vector>

namespace acid {

/// What a batch job of Slurm does and asks for. Empty texts and zeros are left to Slurm.
struct SlurmJob {
  std::string name;    // one job of a name and user runs at a time
  std::string origin;  // the recipe that the person named
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

/// A batch script in bash that a person can read, change and submit. The job saves what runs when
/// it is told to stop (SIGTERM to the batch shell, as of 'scancel --batch --signal=TERM' or a plain
/// scancel) and `save_seconds` before its time limit, and goes on from there when it is submitted
/// or queued again. Its exit code is the command's.
std::string slurm_script(const SlurmJob& job);

}  // namespace acid
