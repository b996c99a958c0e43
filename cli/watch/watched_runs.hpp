#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/watch/watch_view.hpp"
#include "engine/base/clock.hpp"

namespace acid {

/// The state of some runs in a store, as of the last look(). Reads only what may have changed. Use
/// from the store's thread; the store must outlive it.
class WatchedRuns {
 public:
  WatchedRuns(const Store& store, std::vector<std::string> ids);

  /// Throws StoreError when the store cannot be read, UsageError when a run is gone.
  void look();

  std::size_t running() const;
  /// The number of runs that are planned or interrupted, which a process may yet execute.
  std::size_t waiting() const;
  /// Whether a run is running, or a living process goes on with a waiting one: between two runs,
  /// and before a restart, none is running for a while.
  bool at_work() const { return at_work_ || running() > 0; }
  std::size_t ended() const { return runs_.size() - running() - waiting(); }
  /// Whether no run has been at work for so long that no process seems to go on with them. A
  /// process on another host is not seen between two runs, so it is waited for longer.
  bool idle() const;

  /// All runs, in the order of their ids.
  const std::vector<WatchedRun>& runs() const { return runs_; }
  /// The running ones.
  std::vector<WatchedRun> going() const;
  /// Where the runs were and are executed, with what was lost there.
  std::vector<WatchedHost> hosts() const;
  const std::vector<LostAttempt>& lost() const { return hosts_.lost; }
  bool has_several_hosts() const { return hosts_.are_several(); }
  /// "2 running, 125 waiting, 1 failed".
  std::string counts() const;
  /// The running and the waiting ones.
  std::vector<WatchedRun> active() const;
  /// At most `most` runs: the running ones, then those that ended while they were watched, the last
  /// first, then the waiting ones.
  std::vector<WatchedRun> on_screen(std::size_t most) const;

 private:
  struct Seen {
    double at_seconds = 0;
    std::int64_t gradients = 0;
  };
  struct Progress {
    int attempt = 0;
    std::deque<Seen> seen;  // oldest first
    // Exchanges are counted when a measurement is made, so a change counts from when it was seen.
    std::optional<double> exchanges;
    std::deque<std::pair<double, double>> changes;  // (seconds, exchanges), oldest first
  };
  std::size_t count(std::initializer_list<RunState> states) const;
  WatchedRun watched(RunSummary summary, const WatchedRun* before);
  std::optional<double> pace(const WatchedRun& run, Progress& progress) const;
  std::optional<double> exchange_rate(const WatchedRun& run, Progress& progress) const;

  const Store& store_;
  const std::string here_;  // this host
  const std::vector<std::string> ids_;
  const SteadyClock clock_;
  double last_at_work_;
  bool at_work_ = false;  // a process goes on with a waiting run
  std::vector<WatchedRun> runs_;
  HostsAtWork hosts_;
  std::map<std::string, Progress> progress_;     // by run id
  std::map<std::string, SettingName> settings_;  // likewise
  std::map<std::string, double> ended_here_;     // run id → when it was seen to have ended
};

}  // namespace acid
