#include "engine/drivers/mpi/server_visits.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/codecs/coded_rule.hpp"

namespace acid {

ServerVisits::ServerVisits(const Run& run, Post& post, SharedWorker& worker)
    : run_(run),
      spec_(run.spec),
      post_(post),
      worker_(worker),
      rank_(post.rank()),
      form_(spec_.method.packed_message(run.objective.dimension(),
                                        spec_.seeds.derived(Purpose::dither))),
      messages_(spec_.method, *spec_.backend, run.objective.dimension(), 1),
      learning_rate_(spec_.first_rate()) {}

bool ServerVisits::ends() const { return worker_.time().known() >= spec_.budget.gradients; }

bool ServerVisits::begin() {
  return walk_on(worker_.time().time(), nullptr, 0) && worker_.report().computing;
}

bool ServerVisits::go_on(const Position& done, double loss) {
  learning_rate_ = spec_.learning_rate(done);
  ++at_.phase;
  return walk_on(done.normalised_time, &done, loss);
}

bool ServerVisits::walk_on(double t, const Position* done, double loss) {
  walking_ = true;
  const std::int64_t staleness = std::max<std::int64_t>(arrivals_ - arrival_, 0);
  const bool whole = go_to_next_gradient(
      spec_.method.round_of(rank_), at_,
      [&] {
        assert_locked();
        return ends();
      },
      [&](Phase phase) {
        assert_locked();
        if (phase == Phase::step) return step(*done, loss, staleness);
        if (phase == Phase::hear) return hear(t);
        if (phase == Phase::gradient) worker_.begin_gradient(t);
        if (phase == Phase::say) say(t);
        return true;
      });
  walking_ = false;
  return whole;
}

bool ServerVisits::step(const Position& done, double loss, std::int64_t staleness) {
  return worker_.commit(
      done, loss,
      {.staleness = std::min<std::int64_t>(staleness, kExchangeMask), .logs_staleness = true});
}

// A copy travels, because the worker's own may be on a device.
void ServerVisits::say(double t) {
  const std::span<float> own = messages_.said(0);
  worker_.say(t, own);
  std::vector<float> message(own.size());
  spec_.backend->kernels<float>().copy(own.data(), message.data(), own.size());
  awaiting_ = true;
  post_.submit(
      0, mail_header(MailKind::said, t, learning_rate_),
      form_.encode(rank_, form_.number_said(worker_.state().scalars()), std::move(message)));
}

bool ServerVisits::hear(double t) {
  if (awaiting_) {
    const double since = run_.clock.seconds();
    while (awaiting_ && !given_up_) worker_.changed.wait(worker_.mutex);
    worker_.end_wait(since);
  }
  if (awaiting_) return false;
  hear_reply(worker_.state(), t, messages_.said(0), messages_.reply(0));
  worker_.log().add(rank_, EventKind::apply, t, worker_.state(), number_ >> kExchangeBits);
  return true;
}

// At a checkpoint the worker computes a gradient, or has none yet; every leg has one.
void ServerVisits::resume() {
  at_.leg = worker_.gradients();
  if (!worker_.report().computing) return;
  const Leg& leg = spec_.method.round_of(rank_).leg(at_.leg);
  at_.phase = std::ranges::find(leg, Phase::gradient) - leg.begin();
}

void ServerVisits::deliver(const Mail& mail, const std::function<void()>& complete) {
  MailReader reader(mail);
  const bool is_last = reader.kind() == MailKind::last_reply;
  std::int64_t number = 0, arrival = 0;
  reader(number, arrival);
  const auto body = std::make_shared<std::vector<float>>(mail.body_size);
  post_.fetch(mail, *body, [this, body, number, arrival, is_last, complete] {
    {
      MutexLock lock(worker_.mutex);
      const std::span<const float> all(*body);
      const std::size_t said = is_last ? messages_.said(0).size() : 0;
      if (is_last) take(all.first(said), messages_.said(0));
      take(all.subspan(said), messages_.reply(0));
      number_ = static_cast<std::uint64_t>(number);
      arrival_ = arrival;
      hear_arrivals(arrival);
      if (!is_last) worker_.log().name_offer(rank_, number_);
      awaiting_ = false;
      worker_.changed.notify_all();
    }
    if (is_last) complete();
  });
}

void ServerVisits::take(std::span<const float> message, std::span<float> row) {
  spec_.backend->kernels<float>().copy(message.data(), row.data(), row.size());
}

void ServerVisits::hear_arrivals(std::int64_t count) { arrivals_ = std::max(arrivals_, count); }

void ServerVisits::give_up() {
  MutexLock lock(worker_.mutex);
  given_up_ = true;
  worker_.changed.notify_all();
}

}  // namespace acid
