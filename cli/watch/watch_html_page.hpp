#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"

namespace acid {

class Store;

/// A report page as it was made at some moment. Immutable.
struct PageEdition {
  std::string version;  // differs where the page does; empty when there is no page
  std::string page;
  std::string problem;  // why there is no page
};

/// The report page of some runs while they go on. A thread of its own holds the store and makes the
/// page again when somebody asks for it and the store has changed: at most every two seconds, and
/// taking at most a twentieth of a core, however large it is. While nobody asks, nothing is done.
/// Any thread may ask.
class LivePage {
 public:
  LivePage(std::string store_folder, std::vector<std::string> run_ids);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// The page as the store has it now, or a moment ago. Where it has to be made first, that is
  /// waited for as long as `patience_seconds`; then what there was before is returned, or null when
  /// there was nothing. Null also after stop().
  std::shared_ptr<const PageEdition> newest(double patience_seconds) EXCLUDES_LOCK(mutex_);
  /// Seconds since somebody last asked; infinite when nobody has.
  double seconds_unasked() const EXCLUDES_LOCK(mutex_);
  /// Whoever waits goes away. A page that is being made is finished by the destructor.
  void stop() EXCLUDES_LOCK(mutex_);

 private:
  using Edition = std::shared_ptr<const PageEdition>;
  void serve() EXCLUDES_LOCK(mutex_);
  Edition look(const Store& store, const Edition& before, std::string& moment) const;

  const std::string store_folder_;
  const std::vector<std::string> run_ids_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  Condition asked_, looked_;
  Edition newest_ GUARDED_BY(mutex_);
  bool wanted_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  long looks_ GUARDED_BY(mutex_) = 0;  // that have ended
  double due_ GUARDED_BY(mutex_) = 0;  // until then newest_ is good enough
  double last_asked_ GUARDED_BY(mutex_);
  std::thread thread_;  // the last: it uses the others
};

}  // namespace acid
