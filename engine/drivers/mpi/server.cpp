#include "engine/drivers/mpi/server.hpp"

#include <algorithm>
#include <utility>

namespace acid {

MpiServer::MpiServer(const Run& run, Post& post, Worker& server)
    : spec_(run.spec),
      post_(post),
      server_(server),
      form_(spec_.method.packed_message(run.objective.dimension(),
                                        spec_.seeds.derived(Purpose::dither))),
      messages_(on_host(spec_), run.objective.dimension(), spec_.workers),
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
    if (kind == MarkKind::measured)
      server_.read_at(server_.last_event(), 0, models_.emplace_back(server_.x().size()));
    else
      held_ = true;
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
  const std::span<float> said = messages_.said(one.from), reply = messages_.reply(one.from);
  if (form_.is_packed())
    form_.unpack(one.from, 0, one.body, {}, said);
  else
    std::ranges::copy(one.body, said.begin());
  std::int64_t& last = last_arrivals_[static_cast<std::size_t>(one.from)];
  const StepSize arrival{one.learning_rate, arrivals_ + 1, arrivals_ - last};
  last = ++arrivals_;
  serve(server_, one.time, said, reply, arrival);
  post_.send(one.from, mail_header(MailKind::reply, last), std::vector(reply.begin(), reply.end()));
}

std::vector<float> MpiServer::take_model() {
  MutexLock lock(mutex_);
  ACID_ASSERT(!models_.empty(), "the server has not come to a mark after {} of them",
              marks_of_all_);
  std::vector<float> model = std::move(models_.front());
  models_.pop_front();
  return model;
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
    const std::span<const float> said = messages_.said(w), reply = messages_.reply(w);
    std::vector<float> both(said.begin(), said.end());
    both.insert(both.end(), reply.begin(), reply.end());
    post_.send(w, mail_header(MailKind::last_reply, last_arrivals_[static_cast<std::size_t>(w)]),
               std::move(both));
  }
}

}  // namespace acid
