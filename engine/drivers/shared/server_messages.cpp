#include "engine/drivers/shared/server_messages.hpp"

#include <algorithm>
#include <array>

namespace acid {

ServerMessages::Table::Table(const char* checkpoint_name, const RunSpec& spec,
                             const Rule<float>& rule, std::size_t dimension, int callers)
    : name(checkpoint_name),
      size(rule.message().floats(dimension)),
      rows(callers),
      values(static_cast<std::size_t>(rows) * size, *spec.backend) {}

ServerMessages::ServerMessages(const RunSpec& spec, std::size_t dimension, int workers)
    : workers_(workers) {
  const Method& method = spec.method;
  tables_.emplace_back("server.said", spec, *method.rules.floats, dimension, workers);
  tables_.emplace_back("server.reply", spec, *method.server->floats, dimension, workers);
  if (!method.hubs) return;
  const int hubs = method.servers(workers);
  tables_.emplace_back("hub.said", spec, *method.hubs->visit.floats, dimension, hubs);
  tables_.emplace_back("hub.reply", spec, *method.hubs->above.floats, dimension, hubs);
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

void ServerMessages::restore(const CheckpointFile& file) {
  std::vector<StateVectors> messages;
  add_to(messages);
  for (const StateVectors& each : messages) {
    std::vector<std::span<float>> out;
    for (const std::span<const float> values : each.values)
      out.emplace_back(const_cast<float*>(values.data()), values.size());
    file.read(each.name, each.segments, out);
  }
}

void serve(Worker& server, double t, std::span<const float> said, std::span<float> reply,
           const StepSize& arrival) {
  const double at = std::max(t, server.last_event());
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 0}, {said.data(), 1}}};
  server.hear(at, {.sources = sources, .arrival = &arrival});
  server.offer(at, reply);
}

void call(Servers& servers, ServerMessages& messages, int caller, double t, double learning_rate) {
  const int s = servers.of(caller);
  serve(servers.server(s), t, messages.said(caller), messages.reply(caller),
        servers.arrive(caller, learning_rate));
  if (!servers.leave(s)) return;
  const int hub = servers.caller(s);
  servers.say(s, t, messages.said(hub));
  call(servers, messages, hub, t);
  servers.hear(s, t, messages.said(hub), messages.reply(hub));
  servers.come_back(s);
}

void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply) {
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 1}, {reply.data(), 1}}};
  worker.hear(t, {.sources = sources});
}

}  // namespace acid
