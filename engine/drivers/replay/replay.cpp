#include "engine/drivers/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>

#include "engine/base/archive.hpp"
#include "engine/base/error.hpp"
#include "engine/drivers/replay/order.hpp"
#include "engine/drivers/shared/player.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/sampler.hpp"
#include "engine/worker/arena.hpp"

namespace acid {
namespace {

constexpr std::string_view kLayout = "replay/2";

/// The offers of both partners of an exchange, from the offers until both have applied it.
struct Offers {
  Offers(std::size_t size, const Backend& memory) : i(size, memory), j(size, memory) {}
  Arena<float> i, j;
  int lower = 0;                 // the worker whose offer is i
  double time = 0;               // normalised
  std::atomic<int> to_apply{0};  // workers that have yet to apply it; 0: free
};

/// One replay. The calling thread follows the script; the vectors and the log of worker i belong to
/// chain i of the pool, its gradient in flight to chain n + i, so all cores have something to do.
class Replay {
 public:
  Replay(const Run& run, const ReplayScript& script, bool complete, int threads)
      : run_(run),
        spec_(run.spec),
        complete_(complete),
        script_(script),
        order_(run.spec, script, complete),
        shell_(run, [this](int count, const auto& body) { pool_.parallel_for(count, body); },
               {.logs = true}),
        offered_(static_cast<std::size_t>(run.spec.workers)),
        losses_(offered_.size()),
        noted_(losses_.size()),
        unheard_(losses_.size()),
        player_(shell_, threads) {}

  Outcome execute();

 private:
  void resume(const CheckpointFile& file);
  void check_standing(int w) const;
  void take(const ReplayStep& step);
  void begin(const ReplayStep& step);
  void compute(int w) { player_.compute(w, losses_[static_cast<std::size_t>(w)]); }
  void commit(const ReplayStep& step);
  void offer(const ReplayStep& step);
  void apply(const ReplayStep& step);
  void offer_alone(const ReplayStep& step);
  void arrive(const ReplayStep& step);
  void call(int caller, const ReplayStep& step, double learning_rate);
  void hear_reply(const ReplayStep& step);
  void count_edge(const ReplayStep& step);
  void mark_alone(const ReplayStep& step);
  Offers* free_offers();
  void measure(double time);
  void save_cut(double time);
  GradientRecords collect_notes();
  Outcome finish();
  bool all_at_mark() const {
    return std::ranges::find(order_.last_mark().absent, true) == order_.last_mark().absent.end();
  }
  Position position() const { return shell_.position(order_.commits(), 0, order_.exchanges()); }
  std::size_t offer_size() const { return spec_.method.message().floats(ensemble_.dimension()); }
  Position position_of_gradient(std::int64_t gradients) const;
  Position position_at_mark(double time) const;
  ServerMessages& messages() { return ensemble_.servers().messages(); }

  const Run& run_;
  const RunSpec& spec_;
  const bool complete_;
  const ReplayScript& script_;
  ReplayOrder order_;
  RunShell shell_;
  std::deque<Offers> offers_;     // as many as were ever in use at once
  std::vector<Offers*> offered_;  // by worker: the offers of its exchange in flight
  std::map<std::uint64_t, Offers>
      alone_;                   // offers made alone (ReplayStep::alone), by the edge's number
  std::vector<double> losses_;  // of the gradients in flight
  GradientRecords notes_;       // since the last sample; filled in on the workers' chains
  std::vector<bool> noted_;     // workers that have a record in notes_
  std::vector<GradientRecord> unheard_;  // by worker: takes records that no mark contains
  bool notes_lack_ = false;              // gradients from before the resumed checkpoint are missing
  EdgeCounter edges_;
  bool given_up_ = false;  // diverged, but the script says that the recorded run did not
  Player player_;          // declared last: its threads end before what they use
  Ensemble& ensemble_ = shell_.ensemble;
  EventLog& log_ = shell_.log;
  ChainPool& pool_ = player_.pool();
};

Outcome Replay::execute() {
  if (run_.checkpointing.resume != nullptr) resume(*run_.checkpointing.resume);
  bool stopped = false;
  while (!given_up_) {
    stopped = run_.stop.stop_requested();
    const auto step = stopped ? std::nullopt : order_.next();
    if (!step) break;
    take(*step);
  }
  pool_.wait_all();  // the log belongs to the tasks until then
  return complete_ && !stopped ? finish() : shell_.stopped(position());
}

void Replay::resume(const CheckpointFile& file) {
  std::int64_t sampled = 0;
  for (int passed = 0; passed < script_.marks_before;) {
    const auto step = order_.next();
    if (!step)
      throw BrokenScript(0, order_.standing(0).events,
                         fmt::format("checkpoint mark {} is missing", passed + 1));
    count_edge(*step);
    if (step->alone) continue;
    if (step->kind == EventKind::checkpoint && ++passed == script_.marks_before && !all_at_mark())
      throw BrokenScript(0, order_.standing(0).events,
                         "a checkpoint of a run that had lost a worker is no state of all");
    if (step->kind == EventKind::measured) {
      shell_.sampler.pass(position_at_mark(step->time), order_.last_mark().exchanges);
      sampled = order_.last_mark().commits;
    }
  }
  notes_lack_ = sampled < order_.commits();
  ArchiveReader state(file.state());
  ensemble_.persist(state);
  ensemble_.restore(file);
  ArchiveWriter numbers;  // the numbers of the next events, as the log keeps them
  for (int w = 0; w < spec_.workers; ++w) {
    check_standing(w);
    numbers(order_.standing(w).events);
    if (order_.standing(w).computing) compute(w);
  }
  const std::vector<std::byte> bytes = numbers.take();
  ArchiveReader reader(bytes);
  log_.persist(reader);
}

// Fails for a checkpoint of another run or of another moment of this one.
void Replay::check_standing(int w) const {
  const ReplayOrder::Standing standing = order_.standing(w);
  const Worker& worker = ensemble_.worker(w);
  if (worker.gradients() != standing.gradients || worker.last_event() != standing.last_change)
    throw BrokenScript(
        w, standing.events,
        fmt::format("the worker has {} gradients and changed at {} here, and {} and {} in the "
                    "checkpoint {}",
                    standing.gradients, standing.last_change, worker.gradients(),
                    worker.last_event(), run_.checkpointing.resume->path()));
}

void Replay::take(const ReplayStep& step) {
  count_edge(step);
  switch (step.kind) {
    case EventKind::begin_gradient:
      return begin(step);
    case EventKind::commit_gradient:
    case EventKind::commit_and_begin:
      return commit(step);
    case EventKind::exchange:
      return player_.exchange(step.worker, step.partner, step.time, step.exchange);
    case EventKind::offer:
      if (spec_.method.has_server()) return arrive(step);
      return step.alone ? offer_alone(step) : offer(step);
    case EventKind::apply:
      return spec_.method.has_server() ? hear_reply(step) : apply(step);
    case EventKind::measured:
      return step.alone ? mark_alone(step) : measure(step.time);
    case EventKind::checkpoint:
      return step.alone ? mark_alone(step) : save_cut(step.time);
    case EventKind::lost:
      return pool_.submit(step.worker, ChainPool::kNoChain, ChainPool::Weight::light,
                          [this, step](int) { log_.end(step.worker, step.time, step.exchange); });
    case EventKind::assign:
      break;
  }
  ACID_ASSERT(false, "a step of kind {}", static_cast<int>(step.kind));
}

void Replay::begin(const ReplayStep& step) {
  player_.begin(step.worker, step.time);
  if (step.computes) compute(step.worker);
}

void Replay::commit(const ReplayStep& step) {
  const int w = step.worker;
  const auto index = static_cast<std::size_t>(w);
  const bool noted = order_.is_noted(w);  // the last record of a lost worker never arrived
  const bool first = noted && !noted_[index];
  if (noted) noted_[index] = true;
  GradientRecord& note = noted ? notes_.emplace_back() : unheard_[index];
  const Position here = position_of_gradient(step.gradient);
  const bool has_server = spec_.method.has_server();
  player_.commit({.worker = w,
                  .time = step.time,
                  .position = here,
                  .learning_rate = spec_.learning_rate(here),
                  .begins_next = step.kind == EventKind::commit_and_begin,
                  .is_first = first,
                  .staleness = has_server ? std::optional(step.staleness) : std::nullopt,
                  .logs_staleness = has_server},
                 losses_[index], note);
  if (step.computes) compute(w);
  if (order_.commits() % 16 == 0) run_.recorder.progress(position());
}

void Replay::offer(const ReplayStep& step) {
  Offers* const offers = free_offers();
  offers->lower = step.worker;
  offers->time = step.time;
  offers->to_apply.store(2);
  for (const int w : {step.worker, step.partner}) offered_[static_cast<std::size_t>(w)] = offers;
  pool_.submit(step.worker, step.partner, ChainPool::Weight::light, [this, step, offers](int) {
    Worker& i = ensemble_.worker(step.worker);
    Worker& j = ensemble_.worker(step.partner);
    i.offer(step.time, offers->i.span());
    j.offer(step.time, offers->j.span());
    log_.add(step.worker, EventKind::offer, step.time, i, step.exchange);
    log_.add(step.partner, EventKind::offer, step.time, j, step.exchange);
  });
}

void Replay::apply(const ReplayStep& step) {
  Offers* const offers =
      step.alone ? &alone_.at(step.exchange) : offered_[static_cast<std::size_t>(step.worker)];
  // The offer of a partner that offered alone is on the partner's chain.
  pool_.submit(step.worker, step.alone ? step.partner : ChainPool::kNoChain,
               ChainPool::Weight::light, [this, step, offers](int) {
                 Worker& worker = ensemble_.worker(step.worker);
                 const bool lower = step.worker == offers->lower;
                 worker.apply(step.time, offers->time, (lower ? offers->i : offers->j).span(),
                              (lower ? offers->j : offers->i).span());
                 log_.add(step.worker, EventKind::apply, step.time, worker, step.exchange);
                 offers->to_apply.fetch_sub(1);
               });
}

void Replay::offer_alone(const ReplayStep& step) {
  std::erase_if(alone_, [](const auto& each) { return each.second.to_apply.load() == 0; });
  const auto [made, is_first] = alone_.try_emplace(step.exchange, offer_size(), *spec_.backend);
  Offers* const offers = &made->second;
  if (is_first) {
    offers->lower = std::min(step.worker, step.partner);
    offers->time = step.time;
    offers->to_apply.store(2);
  }
  pool_.submit(
      step.worker, ChainPool::kNoChain, ChainPool::Weight::light, [this, step, offers](int) {
        Worker& worker = ensemble_.worker(step.worker);
        worker.offer(step.time, (step.worker == offers->lower ? offers->i : offers->j).span());
        log_.add(step.worker, EventKind::offer, step.time, worker, step.exchange);
      });
}

void Replay::arrive(const ReplayStep& step) {
  call(step.worker, step,
       step.gradient == 0 ? spec_.first_rate()
                          : spec_.learning_rate(position_of_gradient(step.gradient)));
}

void Replay::call(int caller, const ReplayStep& step, double learning_rate) {
  Servers& servers = ensemble_.servers();
  const std::span<float> said = messages().said(caller), reply = messages().reply(caller);
  player_.say(caller, step.time, said, step.exchange);
  player_.serve(caller, step.time, said, reply, servers.arrive(caller, learning_rate));
  const int s = servers.of(caller), hub = servers.caller(s);
  if (!servers.leave(s)) return;
  call(hub, step, 0);
  player_.hear(hub, step.time, messages().said(hub), messages().reply(hub));
  servers.come_back(s);
}

void Replay::hear_reply(const ReplayStep& step) {
  const int w = step.worker;
  player_.hear(w, step.time, messages().said(w), messages().reply(w),
               step.exchange >> kExchangeBits);
}

void Replay::mark_alone(const ReplayStep& step) {
  pool_.submit(step.worker, ChainPool::kNoChain, ChainPool::Weight::light, [this, step](int) {
    log_.mark(step.worker, step.kind, step.time, ensemble_.worker(step.worker));
  });
}

// An exchange with a lost worker counts if the other worker has applied it, as the other reports.
void Replay::count_edge(const ReplayStep& step) {
  if (spec_.method.has_server()) return;  // no graph is used
  const bool met =
      step.kind == EventKind::exchange || (step.kind == EventKind::offer && !step.alone);
  const bool outlived = step.kind == EventKind::apply && step.alone && !order_.is_lost(step.worker);
  if (met || outlived)
    edges_.add(std::min(step.worker, step.partner), std::max(step.worker, step.partner));
}

// Fewer exchanges than workers are in flight in the script's order. More may be in use, because
// submitted applies may not have run yet.
Offers* Replay::free_offers() {
  const auto find = [this]() -> Offers* {
    for (Offers& offers : offers_)
      if (offers.to_apply.load() == 0) return &offers;
    return nullptr;
  };
  if (Offers* const found = find()) return found;
  if (offers_.size() < offered_.size()) return &offers_.emplace_back(offer_size(), *spec_.backend);
  pool_.wait_light();
  Offers* const found = find();
  ACID_ASSERT(found != nullptr, "{} exchanges in flight", offers_.size());
  return found;
}

Position Replay::position_of_gradient(std::int64_t gradients) const {
  return spec_.after_exchanges(gradients, 0, 0, ensemble_.dimension());
}

// The workers' own clocks may be behind the commits at a mark.
Position Replay::position_at_mark(double time) const {
  Position here = shell_.position(order_.last_mark().commits, 0, order_.last_mark().exchanges);
  here.normalised_time = time;
  return here;
}

// After a resume the first sample would have only a part of its gradients, so it has none, unless
// one of them is where the run diverged.
GradientRecords Replay::collect_notes() {
  GradientRecords notes = std::move(notes_);
  notes_.clear();
  noted_.assign(noted_.size(), false);
  sort_by_commit(notes);
  if (notes_lack_ && !any_diverged(notes)) notes.clear();
  notes_lack_ = false;
  return notes;
}

// A run in which a sample found divergence takes no other sample. If the script goes on, only this
// execution has diverged, and its end is known.
void Replay::measure(double time) {
  if (shell_.sampler.diverged()) {
    given_up_ = true;
    return;
  }
  pool_.wait_light();
  const ReplayOrder::AllAtMark& mark = order_.last_mark();
  shell_.sampler.take(shell_.measure(time, {}, mark.absent),
                      shell_.totals(position_at_mark(time), mark.exchanges, 0), collect_notes());
  run_.recorder.progress(position());
}

void Replay::save_cut(double time) {
  pool_.wait_light();
  const std::vector<bool>& absent = order_.last_mark().absent;
  for (int w = 0; w < spec_.workers; ++w)
    if (!absent[static_cast<std::size_t>(w)])
      log_.mark(w, EventKind::checkpoint, time, ensemble_.worker(w));
  if (!all_at_mark()) return;
  log_.flush();
  shell_.save(order_.last_mark().commits, position_at_mark(time), kLayout, ensemble_);
}

Outcome Replay::finish() {
  const Position here = position();
  std::vector<bool> lost;
  for (int w = 0; w < spec_.workers; ++w) lost.push_back(order_.is_lost(w));
  const auto tell = [&](Outcome& outcome) {
    outcome.worker_idle_seconds.resize(losses_.size());
    outcome.edges = edges_.list();
    outcome.exchanges_drawn = order_.exchanges();
  };
  return shell_.end(here.normalised_time, shell_.totals(here, order_.exchanges(), 0),
                    collect_notes(), tell, lost);
}

}  // namespace

Outcome run_replay(const Run& run, const ReplayScript& script, bool complete, int threads) {
  ACID_ASSERT(run.spec.method.is_asynchronous() && threads >= 1,
              "replay of a synchronous method or on {} threads", threads);
  return Replay(run, script, complete, threads).execute();
}

}  // namespace acid
