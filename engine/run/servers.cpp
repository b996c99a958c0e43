#include "engine/run/servers.hpp"

#include <algorithm>
#include <array>

namespace acid {

ServerMessages::Table::Table(const char* checkpoint_name, const Rule<float>& rule,
                             const Backend& memory, std::size_t dimension, int callers)
    : name(checkpoint_name),
      size(rule.message().floats(dimension)),
      rows(callers),
      values(static_cast<std::size_t>(rows) * size, memory) {}

ServerMessages::ServerMessages(const Method& method, const Backend& memory, std::size_t dimension,
                               int workers)
    : workers_(workers) {
  const auto add = [&](const char* name, const Rules& rules, int callers) {
    tables_.emplace_back(name, *rules.floats, memory, dimension, callers);
  };
  add("server.said", method.rules, workers);
  add("server.reply", *method.server, workers);
  if (!method.hubs) return;
  add("hub.said", method.hubs->visit, method.servers(workers));
  add("hub.reply", method.hubs->above, method.servers(workers));
}

void ServerMessages::add_to(std::vector<StateVectors>& vectors) {
  for (Table& table : tables_) {
    const auto floats = static_cast<std::int64_t>(table.size);
    StateVectors& messages = vectors.emplace_back();
    messages.name = table.name;
    messages.segments = {{.name = "message", .shape = {floats}, .offset = 0, .size = floats}};
    messages.compared = false;  // they are past
    for (int r = 0; r < table.rows; ++r) messages.values.push_back(table.row(r));
  }
}

void serve(Worker& server, double t, std::span<const float> said, std::span<float> reply,
           const StepSize& arrival) {
  const double at = std::max(t, server.last_event());
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 0}, {said.data(), 1}}};
  server.hear(at, {.sources = sources, .arrival = &arrival});
  server.offer(at, reply);
}

void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply) {
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 1}, {reply.data(), 1}}};
  worker.hear(t, {.sources = sources});
}

// A server needs no memory for gradients.
Servers::Server::Server(const WorkerSettings& of_workers, const Rules& rules, std::uint32_t number)
    : settings([&] {
        WorkerSettings own = of_workers;
        own.follow(rules);
        own.optimizer = {};
        own.buffer_size = 0;
        own.gradients = own.snapshots = false;
        return own;
      }()),
      memory(settings, 1),
      worker(settings, memory, 0, number) {}

Servers::Servers(const Method& method, const WorkerSettings& of_workers, int workers,
                 std::span<const float> x0)
    : method_(method),
      dimension_(of_workers.dimension),
      workers_(workers),
      count_(method.servers(workers)),
      messages_(method, *of_workers.backend, dimension_, workers),
      of_worker_(index(workers)) {
  const auto add = [&](const Rules& rules) {
    const std::size_t number = index(workers) + all_.size();
    all_.push_back(std::make_unique<Server>(of_workers, rules, static_cast<std::uint32_t>(number)));
    all_.back()->worker.start(x0);
  };
  for (int s = 0; s < count_; ++s) add(*method.server);
  if (!method.hubs) return;
  add(method.hubs->above);
  above_ = &all_.back()->arrivals;
}

double Servers::latest_event() const {
  double latest = 0;
  for (const auto& one : all_) latest = std::max(latest, one->worker.last_event());
  return latest;
}

StepSize Servers::arrive(int caller, double learning_rate) {
  const bool is_worker = caller < workers_;
  Server& here = *all_[index(of(caller))];
  std::int64_t& last =
      is_worker ? of_worker_[index(caller)] : all_[index(caller - workers_)]->above;
  if (!is_worker) learning_rate = all_[index(caller - workers_)]->learning_rate_above;
  const std::int64_t number = here.arrivals.load() + 1;
  const std::int64_t before = std::exchange(last, number);
  here.arrivals.store(number);
  here.learning_rate = learning_rate;
  return {learning_rate, number, number - 1 - before};
}

bool Servers::leave(int s) {
  Server& one = *all_[index(s)];
  if (s >= count_ || !method_.hubs || one.is_away ||
      one.arrivals.load() - one.heard < method_.hubs->every)
    return false;
  one.learning_rate_above = one.learning_rate;
  return one.is_away = true;
}

void Servers::come_back(int h) {
  Server& one = *all_[index(h)];
  one.heard = one.arrivals.load();
  one.is_away = false;
}

void Servers::answer(int caller, double t, double learning_rate) {
  serve(server(of(caller)), t, messages_.said(caller), messages_.reply(caller),
        arrive(caller, learning_rate));
}

void Servers::visit(int s, double t) {
  if (!leave(s)) return;
  const int hub = caller(s);
  say(s, t, messages_.said(hub));
  answer(hub, t);
  visit(of(hub), t);
  hear(s, t, messages_.said(hub), messages_.reply(hub));
  come_back(s);
}

std::int64_t Servers::bytes_of_visits() const {
  if (!above_) return 0;
  return above_->load() * static_cast<std::int64_t>(method_.bytes_per_visit(dimension_).both());
}

void Servers::say(int h, double t, std::span<float> said) {
  Worker& one = server(h);
  one.say_by(*method_.hubs->visit.floats, std::max(t, one.last_event()), said);
}

void Servers::hear(int h, double t, std::span<const float> said, std::span<const float> reply) {
  Worker& one = server(h);
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 1}, {reply.data(), 1}}};
  one.hear_by(*method_.hubs->visit.floats, std::max(t, one.last_event()), {.sources = sources});
}

}  // namespace acid
