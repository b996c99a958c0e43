#include "engine/drivers/shared/server_messages.hpp"

#include <algorithm>
#include <array>

namespace acid {

ServerMessages::ServerMessages(const RunSpec& spec, std::size_t dimension, int workers)
    : workers_(workers),
      hubs_(spec.method.hubs ? spec.method.servers(workers) : 0),
      said_size_(spec.method.message().floats(dimension)),
      reply_size_(spec.method.server->floats->message().floats(dimension)),
      said_above_size_(hubs_ > 0 ? spec.method.hubs->visit.floats->message().floats(dimension) : 0),
      reply_above_size_(hubs_ > 0 ? spec.method.hubs->above.floats->message().floats(dimension)
                                  : 0),
      said_(static_cast<std::size_t>(workers_) * said_size_, *spec.backend),
      replies_(static_cast<std::size_t>(workers_) * reply_size_, *spec.backend),
      said_above_(static_cast<std::size_t>(hubs_) * said_above_size_, *spec.backend),
      replies_above_(static_cast<std::size_t>(hubs_) * reply_above_size_, *spec.backend) {}

void ServerMessages::add_to(std::vector<StateVectors>& vectors) {
  const auto add = [&](const char* name, Arena<float>& all, std::size_t size, int rows) {
    if (rows == 0) return;
    const auto floats = static_cast<std::int64_t>(size);
    StateVectors& messages = vectors.emplace_back();
    messages.name = name;
    messages.segments = {{.name = "message", .shape = {floats}, .offset = 0, .size = floats}};
    messages.compared = false;  // they are past
    for (int r = 0; r < rows; ++r) messages.values.push_back(row(all, size, r));
  };
  add("server.said", said_, said_size_, workers_);
  add("server.reply", replies_, reply_size_, workers_);
  add("hub.said", said_above_, said_above_size_, hubs_);
  add("hub.reply", replies_above_, reply_above_size_, hubs_);
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

void visit(Servers& servers, int h, double t, ServerMessages& messages) {
  const std::span<float> said = messages.said_above(h), reply = messages.reply_above(h);
  servers.say_above(h, t, said);
  serve(servers.model(), t, said, reply, servers.arrive_above(h));
  servers.hear_above(h, t, said, reply);
  servers.come_back(h);
}

void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply) {
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 1}, {reply.data(), 1}}};
  worker.hear(t, {.sources = sources});
}

}  // namespace acid
