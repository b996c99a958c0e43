#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/clock.hpp"
#include "engine/drivers/mpi/evaluator.hpp"

namespace acid {

/// Rank 0 in an asynchronous run: adds up and spreads progress, gives out gradients, and brings all
/// workers to a common time for a checkpoint and the end. Counters and requests: any thread.
class AsyncCoordinator final : public Coordinator {
 public:
  /// While `overloaded` is true, because rank 0 cannot keep up with the samples, no worker gets
  /// more gradients. `ensemble`: its servers' visits count as they come; outlives this.
  AsyncCoordinator(const Run& run, Post& post, const Ensemble& ensemble,
                   std::function<bool()> overloaded);

  /// Begins or resumes the run; `all_progress`: of each worker so far, `cut`: the count of the
  /// resumed checkpoint (−1: none), `started_seconds`: when the run would have begun on the clock.
  void begin(const std::vector<WorkerProgress>& all_progress, std::int64_t cut,
             double started_seconds);
  /// The gradients that a worker may commit at first.
  std::int64_t first_grant(int worker);
  void deliver(const Mail& mail) override;
  WorkerProgress progress_of(int worker) const;
  /// The run goes on without a process that came so far; `mail` reports its loss.
  void lose(const Mail& mail, const WorkerProgress& progress);
  double act() override;

  // Any thread may call these.
  std::int64_t waiting() const { return waiting_.load(); }  // due edges not begun at the end
  bool was_stopped() override { return was_stopped_.load(); }
  bool diverged() const { return diverged_.load(); }
  bool ending() const { return ending_.load(); }
  int lost() const { return lost_.load(); }  // workers
  Position position() const;                 // only once the run has begun
  /// One request at a time. `sample`: workers are only measured there.
  void request_cut(bool sample) { post_.submit(0, mail_header(MailKind::cut_wanted, sample)); }
  /// `by_person`: the run is to be resumed later.
  void request_end(bool by_person) { post_.submit(0, mail_header(MailKind::stop, by_person)); }

 private:
  struct Own {
    WorkerProgress progress;
    std::int64_t last_sent_total = 0, last_sent_grant = 0;
    bool knows_last = false;  // that all gradients are granted
    bool promised = false, closed = false, lost = false;
    bool held = false;          // by the throttle, and gave its grant back
    std::int64_t returned = 0;  // how often
  };
  void hear_progress(int from, MailReader& reader);
  void note_progress(int worker, const WorkerProgress& progress);
  void ask_cut();
  void promise(int from, std::int64_t count);
  void note_loss(const Mail& mail, const WorkerProgress& progress);
  void all_closed();
  void closed(int from, MailReader& reader);
  void end(bool by_person);
  void tell(int worker, std::int64_t granted);
  std::int64_t grant(int worker, double now);
  std::size_t server_of(int w) const {
    return static_cast<std::size_t>(spec_.method.server_of(w, spec_.workers));
  }
  Own& own(int w) { return workers_[static_cast<std::size_t>(w)]; }

  const Run& run_;
  const RunSpec& spec_;
  Post& post_;
  const Ensemble& ensemble_;
  const std::function<bool()> overloaded_;
  double started_seconds_ = 0;
  std::vector<Own> workers_;
  std::vector<std::int64_t>
      endpoints_by_server_;  // WorkerProgress::exchanges of the workers of each server; or of all
  std::optional<Permits> permits_;
  double spread_seconds_ = 0;  // time of the last news
  int not_closed_ = 0;
  std::int64_t cut_ = -1;  // the last checkpoint's count
  /// A common time that all workers are asked for.
  struct Request {
    bool is_sample = false;
    int promises_missing = 0;
    std::int64_t highest_promise = 0;
  };
  Request request_;
  std::int64_t highest_known_ = 0;  // gradients of all, as known to any worker that has closed
  std::atomic<std::int64_t> gradients_{0}, exchanges_{0}, extra_bytes_{0}, waiting_{0};
  std::atomic<int> lost_{0};
  std::atomic<bool> was_stopped_{false}, diverged_{false}, ending_{false};
};

}  // namespace acid
