#include "engine/drivers/mpi/post.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace acid {

void Post::send_to_all(std::span<const std::byte> header) {
  for (int to = 0; to < size(); ++to) send(to, header);
}

void Post::send(int to, std::span<const std::byte> header, std::span<const float> body,
                std::function<void()> sent) {
  pending_.push_back({transport_.send(to, header, body), std::move(sent), -1});
}

void Post::send(int to, std::span<const std::byte> header, std::vector<float> body) {
  if (body.empty()) return send(to, header);
  const auto kept = std::make_shared<const std::vector<float>>(std::move(body));
  send(to, header, std::span<const float>(*kept), [kept] {});
}

void Post::fetch(const Mail& mail, std::span<float> into, std::function<void()> arrived) {
  pending_.push_back({transport_.fetch(mail, into), std::move(arrived), mail.from});
}

void Post::pump(double seconds, const std::function<void(const Mail&)>& deliver) {
  constexpr double kLongestSeconds = 0.5;  // of work without a heartbeat
  const bool worked = work(deliver);
  if (worked && clock_.seconds() < waited_seconds_ + kLongestSeconds) return;
  wait(worked ? 0 : seconds);
  if (!worked) work(deliver);
}

void Post::wait(double seconds) {
  transport_.wait(seconds);
  waited_seconds_ = clock_.seconds();
}

void Post::run_with_heartbeats(const std::function<void()>& job) {
  constexpr double kSeconds = 0.25;
  std::atomic<bool> over{false};
  std::exception_ptr failure;
  std::jthread thread([&] {
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    over.store(true);
    transport_.wake();
  });
  while (!over.load()) {
    wait(kSeconds);
    // The thread does not sleep while messages wait to be read.
    if (!over.load()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  thread.join();
  if (failure) std::rethrow_exception(failure);
}

bool Post::send_submitted() {
  std::vector<Submitted> submitted;
  {
    MutexLock lock(mutex_);
    submitted.swap(submitted_);
  }
  for (Submitted& one : submitted) send(one.to, one.header, std::move(one.body));
  return !submitted.empty();
}

bool Post::work(const std::function<void(const Mail&)>& deliver) {
  bool worked = send_submitted();
  while (const auto mail = transport_.next()) {
    worked = true;
    if (!mail->lost.empty())
      std::erase_if(pending_, [&](const Pending& one) { return one.fetched_from == mail->from; });
    deliver(*mail);
  }
  // Callbacks may add to the list; the next call handles what they add.
  for (std::size_t left = pending_.size(); left > 0; --left) {
    Pending one = std::move(pending_.front());
    pending_.pop_front();
    if (transport_.done(one.ticket)) {
      worked = true;
      one.done();
    } else {
      pending_.push_back(std::move(one));
    }
  }
  return worked;
}

void Post::let_go() {
  constexpr double kSeconds = 0.5;
  const double until = clock_.seconds() + kSeconds;
  while (!idle() && clock_.seconds() < until) pump(until - clock_.seconds(), [](const Mail&) {});
}

void Post::submit(int to, std::vector<std::byte> header, std::vector<float> body) {
  {
    MutexLock lock(mutex_);
    submitted_.push_back({to, std::move(header), std::move(body)});
  }
  wake();
}

}  // namespace acid
