#include "worker/calibration_crew.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "engine/drivers/mpi/all_reduce.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostTrips = 1000;
constexpr int kMostRounds = 50;

std::vector<std::byte> header_of(std::int32_t value) {
  std::vector<std::byte> header(sizeof value);
  std::memcpy(header.data(), &value, sizeof value);
  return header;
}

std::int32_t value_of(const Mail& mail) {
  std::int32_t value = 0;
  std::memcpy(&value, mail.header.data(), std::min(sizeof value, mail.header.size()));
  return value;
}

}  // namespace

CalibrationCrew::CalibrationCrew(Transport& transport) : transport_(transport), post_(transport) {
  std::vector<std::string> names;
  for (const ProcessPlace& place : transport_.places()) {
    const auto known = std::ranges::find(names, place.host);
    const auto at = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back(place.host), hosts_.emplace_back();
    hosts_[at].push_back(place.rank);
  }
}

const std::string& CalibrationCrew::host_name(std::size_t host) const {
  return transport_.places()[static_cast<std::size_t>(hosts_[host].front())].host;
}

void CalibrationCrew::send(int to, const std::vector<std::byte>& header,
                           std::span<const float> body) {
  const auto sent = transport_.send(to, header, body);
  while (!transport_.done(sent)) transport_.wait(kIdleSeconds);
}

Mail CalibrationCrew::take(int from) {
  const auto early = std::ranges::find(early_, from, &Mail::from);
  if (early != early_.end()) {
    Mail mail = std::move(*early);
    early_.erase(early);
    return mail;
  }
  while (true) {
    auto mail = transport_.next();
    if (!mail)
      transport_.wait(kIdleSeconds);
    else if (mail->from == from)
      return std::move(*mail);
    else
      early_.push_back(std::move(*mail));
  }
}

std::vector<float> CalibrationCrew::body_of(const Mail& mail) {
  std::vector<float> body(mail.body_size);
  if (body.empty()) return body;
  const auto fetched = transport_.fetch(mail, body);
  while (!transport_.done(fetched)) transport_.wait(kIdleSeconds);
  return body;
}

std::int32_t CalibrationCrew::meet(std::int32_t value) {
  if (!leads()) {
    send(0, header_of(0));
    return value_of(take(0));
  }
  for (int other = 1; other < size(); ++other) take(other);
  for (int other = 1; other < size(); ++other) send(other, header_of(value));
  return value;
}

void CalibrationCrew::report(const std::vector<double>& values) {
  send(0, header_of(0), std::vector<float>(values.begin(), values.end()));
}

std::vector<double> CalibrationCrew::reported_by(int rank) {
  const std::vector<float> values = body_of(take(rank));
  return {values.begin(), values.end()};
}

double CalibrationCrew::message_seconds(int partner, std::size_t floats, double seconds) {
  const std::vector<float> body(floats, 1.0F);
  const SteadyClock clock;
  if (!leads()) {
    for (bool more = true; more;) {
      const Mail mail = take(0);
      body_of(mail);
      more = value_of(mail) != 0;
      send(0, header_of(0), std::span(body).first(mail.body_size));
    }
    return 0;
  }
  std::vector<double> trips;
  const double until = clock.seconds() + seconds;
  for (bool more = true; more;) {
    more = trips.empty() || (trips.size() < kMostTrips && clock.seconds() < until);
    const double begun = clock.seconds();
    send(partner, header_of(more ? 1 : 0), body);
    body_of(take(partner));
    trips.push_back(clock.seconds() - begun);
  }
  trips.erase(trips.begin());  // it warms up
  std::ranges::sort(trips);
  return trips[trips.size() / 2] / 2;
}

void CalibrationCrew::await(Transport::Ticket sent, const Mail& mail, std::span<float> into) {
  const auto fetched = transport_.fetch(mail, into);
  while (!transport_.done(sent) || !transport_.done(fetched)) transport_.wait(kIdleSeconds);
}

// The partner of the lower rank says when it is enough. They lead in turns.
double CalibrationCrew::exchange_seconds(int partner, std::size_t floats, double seconds) {
  const bool decides = rank() < partner;
  std::vector<float> x(floats, 1.0F), own(floats), partners(floats);
  const SteadyClock clock;
  const double begun = clock.seconds();
  int count = 0;
  for (bool more = true; more; ++count) {
    if (decides) more = count == 0 || clock.seconds() < begun + seconds;
    const auto word = header_of(more ? 1 : 0);
    if ((count % 2 == 0) == decides) {
      const Mail ready = take(partner);
      send(partner, word);  // go
      const Mail answer = take(partner);
      own = x;
      await(transport_.send(partner, word, own), answer, partners);
      if (!decides) more = value_of(ready) != 0;
    } else {
      send(partner, word);  // ready
      const Mail go = take(partner);
      own = x;
      const auto sent = transport_.send(partner, word, own);
      await(sent, take(partner), partners);
      if (!decides) more = value_of(go) != 0;
    }
    for (std::size_t k = 0; k < floats; ++k) x[k] += (partners[k] - own[k]) / 2;
  }
  return (clock.seconds() - begun) / count;
}

double CalibrationCrew::swap_seconds(int partner, std::size_t floats, double seconds,
                                     const std::function<void()>& before) {
  const bool decides = rank() < partner;
  const std::vector<float> own(floats, 1.0F);
  std::vector<float> partners(floats);
  const SteadyClock clock;
  const double begun = clock.seconds();
  int count = 0;
  for (bool more = true; more; ++count) {
    if (decides) more = count == 0 || clock.seconds() < begun + seconds;
    before();
    const auto sent = transport_.send(partner, header_of(more ? 1 : 0), own);
    const Mail mail = take(partner);
    await(sent, mail, partners);
    if (!decides) more = value_of(mail) != 0;
  }
  return (clock.seconds() - begun) / count;
}

double CalibrationCrew::all_reduce_seconds(std::size_t floats, double seconds,
                                           const std::function<void()>& before) {
  const Buckets buckets(floats);
  const std::vector<float> own(floats, 1.0F);
  std::vector<int> members(static_cast<std::size_t>(size()));
  std::iota(members.begin(), members.end(), 0);
  bool over = false;
  AllReduce reduce(post_, {-1, floats}, members, buckets, own, cpu_backend(), nullptr,
                   [&] { over = true; });
  // A process that has ended already goes to the next meeting.
  const auto deliver = [&](const Mail& mail) {
    if (mail.header.size() == sizeof(std::int32_t))
      early_.push_back(mail);
    else
      reduce.deliver(mail);
  };
  const SteadyClock clock;
  const auto rounds = [&](int count) {
    const double begun = clock.seconds();
    // Those that left the meeting first have sent their parts already.
    for (const Mail& mail : std::exchange(early_, {})) deliver(mail);
    for (int round = 0; round < count; ++round) {
      over = false;
      if (before) before();
      for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) reduce.contribute(bucket);
      while (!over) post_.pump(kIdleSeconds, deliver);
    }
    while (!post_.idle()) post_.pump(kIdleSeconds, deliver);
    return (clock.seconds() - begun) / count;
  };
  meet();
  const double first = rounds(1);
  const int count = meet(static_cast<int>(std::clamp(seconds / first, 1.0, 1.0 * kMostRounds)));
  return rounds(count);
}

}  // namespace acid
