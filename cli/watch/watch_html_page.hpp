#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"

namespace acid {

class Store;

/// A report page as it was at some moment. Immutable.
struct PageEdition {
  std::string version;  // changes when the page changes; empty when there is no page
  std::string page;
  std::string problem;  // why there is no page
};

/// The report page of some runs while they go on. A thread of its own holds the store and makes the
/// page again when a reader asks for it and the store has changed: at most every two seconds, and
/// with at most a twentieth of a core, however large the page is. Without requests nothing is done.
/// Any thread may ask.
class LivePage {
 public:
  LivePage(std::string store_folder, std::vector<std::string> run_ids);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// The newest page. When a page has to be made first, waits for it at most `patience_seconds`;
  /// then returns the page before, or null when there was none. Null also after stop().
  std::shared_ptr<const PageEdition> newest(double patience_seconds) EXCLUDES_LOCK(mutex_);
  /// Seconds since the last request; infinite when there was none.
  double seconds_unasked() const EXCLUDES_LOCK(mutex_);
  /// Releases all waiting requests. The destructor lets the thread finish a page that is being
  /// made.
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
  long looks_ GUARDED_BY(mutex_) = 0;  // looks that have ended
  double due_ GUARDED_BY(mutex_) = 0;  // newest_ is new enough until then
  double last_asked_ GUARDED_BY(mutex_);
  std::thread thread_;  // last member: it uses the others
};

}  // namespace acid
