#include "engine/drivers/shared/server_messages.hpp"

#include <algorithm>
#include <array>

namespace acid {

ServerMessages::ServerMessages(const RunSpec& spec, std::size_t dimension, int workers)
    : workers_(workers),
      said_size_(spec.method.message().floats(dimension)),
      reply_size_(spec.method.server->floats->message().floats(dimension)),
      said_(static_cast<std::size_t>(workers_) * said_size_, *spec.backend),
      replies_(static_cast<std::size_t>(workers_) * reply_size_, *spec.backend) {}

void ServerMessages::add_to(std::vector<StateVectors>& vectors) {
  const auto add = [&](const char* name, Arena<float>& all, std::size_t size) {
    const auto floats = static_cast<std::int64_t>(size);
    StateVectors& messages = vectors.emplace_back();
    messages.name = name;
    messages.segments = {{.name = "message", .shape = {floats}, .offset = 0, .size = floats}};
    messages.compared = false;  // they are past
    for (int w = 0; w < workers_; ++w) messages.values.push_back(row(all, size, w));
  };
  add("server.said", said_, said_size_);
  add("server.reply", replies_, reply_size_);
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

void hear_reply(Worker& worker, double t, std::span<const float> said,
                std::span<const float> reply) {
  const std::array<kernels::Weighted<float>, 2> sources{{{said.data(), 1}, {reply.data(), 1}}};
  worker.hear(t, {.sources = sources});
}

}  // namespace acid
