#include "cli/watch/watch_html_page.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/terminal/progress.hpp"
#include "engine/base/digest.hpp"
#include "reports/html.hpp"

namespace acid {
namespace {

constexpr double kSecondsBetweenPages = 2;
constexpr double kSecondsBetweenChecks = 0.25;
constexpr double kLargestShareOfPages = 0.05;

std::shared_ptr<const PageEdition> edition_of(std::string page) {
  std::string version = sha256_hex(page).substr(0, 32);
  return std::make_shared<const PageEdition>(PageEdition{std::move(version), std::move(page), {}});
}

std::shared_ptr<const PageEdition> without_page(const char* problem) {
  return std::make_shared<const PageEdition>(PageEdition{{}, {}, problem});
}

}  // namespace

LivePage::LivePage(std::string store_folder, std::vector<std::string> run_ids)
    : store_folder_(std::move(store_folder)),
      run_ids_(std::move(run_ids)),
      last_asked_(-INFINITY),
      thread_([this] { serve(); }) {}

LivePage::~LivePage() {
  stop();
  thread_.join();
}

void LivePage::stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  asked_.notify_all();
  looked_.notify_all();
}

double LivePage::seconds_unasked() const {
  const MutexLock lock(mutex_);
  return clock_.seconds() - last_asked_;
}

std::shared_ptr<const PageEdition> LivePage::newest(double patience_seconds) {
  const MutexLock lock(mutex_);
  const double asked = last_asked_ = clock_.seconds();
  if (asked >= due_) {
    wanted_ = true;
    asked_.notify_one();
    const long seen = looks_;
    for (double left = patience_seconds; left > 0 && looks_ == seen && !stopped_;
         left = asked + patience_seconds - clock_.seconds())
      looked_.wait_for(mutex_, left);
  }
  return stopped_ ? nullptr : newest_;
}

// Returns the page before when nothing has changed in the store, which is cheap to see; else a new
// page.
LivePage::Edition LivePage::look(const Store& store, const Edition& before,
                                 std::string& moment) const {
  std::string now = store_moment(store);  // before reading: later writes are newer
  if (before != nullptr && now == moment) return before;
  ReportOptions options;
  options.live = true;
  options.threads = 1;  // the runs use the other cores
  Edition edition = edition_of(render_report(store, run_ids_, options));
  moment = std::move(now);
  return before != nullptr && before->version == edition->version ? before : edition;
}

void LivePage::serve() {
  std::optional<Store> store;  // opened by the thread that uses it
  std::string moment;
  Edition edition;
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!wanted_ && !stopped_) asked_.wait(mutex_);
      if (stopped_) return;
    }
    const double begun = cpu_seconds();
    const std::string before = moment;
    try {
      if (!store) store.emplace(store_folder_, Store::Access::read);
      edition = look(*store, edition, moment);
    } catch (const std::exception& error) {
      store.reset();
      moment.clear();
      edition = without_page(error.what());
    }
    const bool nothing_new = !moment.empty() && moment == before;
    const double pause = nothing_new ? kSecondsBetweenChecks : kSecondsBetweenPages;
    const double cost = cpu_seconds() - begun;
    const MutexLock lock(mutex_);
    newest_ = edition;
    wanted_ = false;
    ++looks_;
    due_ = clock_.seconds() + std::max(pause, cost / kLargestShareOfPages);
    looked_.notify_all();
  }
}

}  // namespace acid
