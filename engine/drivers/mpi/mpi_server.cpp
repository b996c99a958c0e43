#include "engine/drivers/mpi/mpi_server.hpp"

#include <algorithm>
#include <utility>

namespace acid {

MpiServer::MpiServer(const Run& run, Post& post, Servers& servers)
    : spec_(run.spec),
      post_(post),
      servers_(servers),
      form_(spec_.method.packed_message(run.objective.dimension(),
                                        spec_.seeds.derived(Purpose::dither))),
      last_arrivals_(static_cast<std::size_t>(spec_.workers)),
      marks_(last_arrivals_.size()) {}

void MpiServer::deliver(const Mail& mail) {
  const auto one = std::make_shared<Waiting>();
  MailReader reader(mail);
  reader(one->time, one->learning_rate);
  one->from = mail.from;
  one->marks = marks_[static_cast<std::size_t>(mail.from)];
  one->body.resize(mail.body_size);
  post_.fetch(mail, one->body, [this, one] {
    waiting_.push_back(std::move(*one));
    act();
  });
}

void MpiServer::pass_mark(int from, MarkKind kind) {
  ++marks_[static_cast<std::size_t>(from)];
  if (std::ranges::min(marks_) == marks_of_all_) return;
  ++marks_of_all_;
  {
    MutexLock lock(mutex_);
    if (kind == MarkKind::measured) {
      const Worker& model = servers_.model();
      AtMark& mark = measured_.emplace_back();
      mark.bytes_of_visits = servers_.bytes_of_visits();
      mark.model.resize(model.x().size());
      model.read_at(model.last_event(), 0, mark.model);
    } else {
      held_ = true;
    }
  }
  act();
}

bool MpiServer::holds() {
  MutexLock lock(mutex_);
  return held_;
}

void MpiServer::act() {
  if (holds()) return;
  const auto may = [this](const Waiting& one) { return one.marks == marks_of_all_; };
  for (auto next = std::ranges::find_if(waiting_, may); next != waiting_.end();
       next = std::ranges::find_if(waiting_, may)) {
    const Waiting one = std::move(*next);
    waiting_.erase(next);
    hear(one);
  }
}

void MpiServer::hear(const Waiting& one) {
  form_.decode(one.from, one.body, servers_.messages().said(one.from));
  servers_.answer(one.from, one.time, one.learning_rate);
  const std::span<const float> reply = servers_.messages().reply(one.from);
  const std::int64_t number = last_arrivals_[static_cast<std::size_t>(one.from)] = ++arrivals_;
  post_.send(one.from, mail_header(MailKind::reply, number, servers_.last_arrival(one.from)),
             std::vector(reply.begin(), reply.end()));
  servers_.visit(servers_.of(one.from), one.time);  // no worker waits for it
}

MpiServer::AtMark MpiServer::take_mark() {
  MutexLock lock(mutex_);
  ACID_ASSERT(!measured_.empty(), "the servers have not come to a mark after {} of them",
              marks_of_all_);
  AtMark mark = std::move(measured_.front());
  measured_.pop_front();
  return mark;
}

void MpiServer::go_on() {
  {
    MutexLock lock(mutex_);
    held_ = false;
  }
  post_.wake();
}

void MpiServer::send_last() {
  for (int w = 0; w < spec_.workers; ++w) {
    const std::span<const float> said = servers_.messages().said(w),
                                 reply = servers_.messages().reply(w);
    std::vector<float> both(said.begin(), said.end());
    both.insert(both.end(), reply.begin(), reply.end());
    post_.send(w,
               mail_header(MailKind::last_reply, last_arrivals_[static_cast<std::size_t>(w)],
                           servers_.last_arrival(w)),
               std::move(both));
  }
}

}  // namespace acid
