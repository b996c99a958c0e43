#include "engine/run/server_messages.hpp"

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

}  // namespace acid
