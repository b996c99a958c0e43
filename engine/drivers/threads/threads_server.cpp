#include "engine/drivers/threads/threads_server.hpp"

#include <algorithm>

namespace acid {

ThreadsServer::ThreadsServer(const RunSpec& spec, LockedWorkers& workers)
    : spec_(spec),
      workers_(workers),
      walks_(static_cast<std::size_t>(spec.workers)),
      mutexes_(
          std::make_unique<Mutex[]>(static_cast<std::size_t>(workers.ensemble().servers().all()))) {
  for (Walk& walk : walks_) walk.learning_rate = spec.first_rate();
}

bool ThreadsServer::begin(int w) {
  return workers_.commits() < spec_.budget.gradients && walk_on(w, workers_.now(), nullptr) &&
         workers_.own(w).computing;
}

bool ThreadsServer::go_on(int w, const Done& done) {
  Walk& at = walks_[static_cast<std::size_t>(w)];
  at.learning_rate = spec_.learning_rate(done.here);
  ++at.place.phase;
  return walk_on(w, done.here.normalised_time, &done);
}

bool ThreadsServer::walk_on(int w, double t, const Done* done) {
  Walk& at = walks_[static_cast<std::size_t>(w)];
  const std::int64_t staleness = workers_.ensemble().servers().staleness(w);
  return go_to_next_gradient(
      spec_.method.round_of(w), at.place,
      [&] { return workers_.commits() >= spec_.budget.gradients; },
      [&](Phase phase) {
        if (phase == Phase::step) return step(w, *done, staleness);
        if (phase == Phase::gradient) workers_.begin(w, t);
        if (phase == Phase::say) say(w, t);
        if (phase == Phase::hear) hear(w, t);
        return true;
      });
}

bool ThreadsServer::step(int w, const Done& done, std::int64_t staleness) {
  return workers_.commit(
      w, done.here, done.loss, done.started,
      {.staleness = std::min<std::int64_t>(staleness, kExchangeMask), .logs_staleness = true});
}

void ThreadsServer::say(int w, double t) {
  Ensemble& ensemble = workers_.ensemble();
  ensemble.worker(w).offer(t, messages().said(w));
  call(w, w, t, workers_.seconds());
  workers_.log().add(w, EventKind::offer, t, ensemble.worker(w),
                     static_cast<std::uint64_t>(walks_[static_cast<std::size_t>(w)].arrival));
}

// The server hears the message of `caller`, on the way of worker w, which has waited since `since`.
void ThreadsServer::call(int w, int caller, double t, double since) {
  Walk& at = walks_[static_cast<std::size_t>(w)];
  Servers& servers = workers_.ensemble().servers();
  const int s = servers.of(caller), hub = servers.caller(s);
  MutexLock lock(mutexes_[static_cast<std::size_t>(s)]);
  const double begun = workers_.add_wait(w, since);
  serve(servers.server(s), t, messages().said(caller), messages().reply(caller),
        servers.arrive(caller, at.learning_rate));
  const bool leaves = servers.leave(s);
  if (leaves) servers.say(s, t, messages().said(hub));
  const double left = workers_.add_visit(w, begun);
  if (!leaves) {
    at.arrival = workers_.arrive();
    return;
  }
  call(w, hub, t, left);
  const double back = workers_.seconds();
  servers.hear(s, t, messages().said(hub), messages().reply(hub));
  servers.come_back(s);
  workers_.add_visit(w, back);
}

void ThreadsServer::hear(int w, double t) {
  Worker& worker = workers_.ensemble().worker(w);
  hear_reply(worker, t, messages().said(w), messages().reply(w));
  const auto arrival = static_cast<std::uint64_t>(walks_[static_cast<std::size_t>(w)].arrival);
  workers_.log().add(w, EventKind::apply, t, worker, arrival >> kExchangeBits);
}

}  // namespace acid
