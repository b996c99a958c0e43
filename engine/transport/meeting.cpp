#include "engine/transport/meeting.hpp"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <optional>

#include "engine/base/clock.hpp"
#include "engine/transport/handshake.hpp"

namespace acid {
namespace {

constexpr double kFirstPatienceSeconds = 2;  // with one address; doubles with every round
constexpr double kMostPatienceSeconds = 10;
constexpr double kPauseSeconds = 0.1;  // after all addresses refused
// Patience with a caller's handshake, one round trip. A caller that is too slow calls again.
constexpr double kVisitSeconds = 10;
constexpr std::size_t kSpareVisits = 64;  // beside one of each process

bool is_loopback(const std::string& address) {
  return address == "::1" || address.rfind("127.", 0) == 0;
}

/// The addresses of `other` worth trying from `self`. Different hosts may have one name (network
/// namespaces): a wrong one fails the proof.
std::vector<std::string> addresses_to_try(const Card& self, const Card& other) {
  std::vector<std::string> addresses = other.addresses;
  std::stable_partition(addresses.begin(), addresses.end(), is_loopback);
  if (self.place.host == other.place.host) return addresses;
  const auto end = std::find_if_not(addresses.begin(), addresses.end(), is_loopback);
  if (end != addresses.end()) addresses.erase(addresses.begin(), end);
  return addresses;
}

socklen_t parse_address(const std::string& text, std::uint16_t port, sockaddr_storage& storage) {
  storage = {};
  auto* four = reinterpret_cast<sockaddr_in*>(&storage);
  if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    return sizeof *four;
  }
  auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
  const bool valid = ::inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1;
  ACID_ASSERT(valid, "address '{}'", text);
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(port);
  return sizeof *six;
}

std::string reason_text() {
  return errno == 0 ? "another program listens there" : std::strerror(errno);
}

/// The attempts to reach one process of lower rank.
class Call {
 public:
  Call(const Card& self, const Card& other, const std::string& secret)
      : other_(other),
        secret_(secret),
        addresses_(addresses_to_try(self, other)),
        hello_{kMagic, self.place.rank, other.place.rank, {}} {}

  int peer() const { return other_.place.rank; }
  bool established() const { return stage_ == Stage::established; }
  Descriptor take() { return std::move(socket_); }
  pollfd interest() const {
    return {socket_.get(), static_cast<short>(stage_ == Stage::connecting ? POLLOUT : POLLIN), 0};
  }
  void advance(bool ready, double now);
  std::string story() const;

 private:
  enum class Stage { pause, connecting, waiting, established };
  void start(double now);
  void give_up(const std::string& why, double now);
  void say_hello(double now);
  void hear_answer(double now);

  const Card& other_;
  const std::string& secret_;
  const std::vector<std::string> addresses_;
  Hello hello_;
  Descriptor socket_;
  PieceReader incoming_;
  Stage stage_ = Stage::pause;
  std::size_t attempts_ = 0;
  double until_ = 0;
  double patience_ = kFirstPatienceSeconds;
  std::map<std::string, std::string> problems_;  // by address
};

void Call::start(double now) {
  hello_.nonce = new_nonce();
  incoming_ = {};
  until_ = now + patience_;
  stage_ = Stage::connecting;
  sockaddr_storage storage;
  const socklen_t size =
      parse_address(addresses_[attempts_ % addresses_.size()], other_.port, storage);
  socket_ = Descriptor(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_) return give_up(std::strerror(errno), now);
  const int result = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&storage), size);
  if (result != 0 && errno != EINPROGRESS && errno != EINTR) give_up(std::strerror(errno), now);
}

void Call::give_up(const std::string& why, double now) {
  problems_[addresses_[attempts_ % addresses_.size()]] = why;
  socket_.close();
  stage_ = Stage::pause;
  until_ = now;
  if (++attempts_ % addresses_.size() != 0) return;
  until_ = now + kPauseSeconds;
  patience_ = std::min(2 * patience_, kMostPatienceSeconds);
}

void Call::say_hello(double now) {
  socklen_t size = sizeof errno;
  int problem = 0;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &size);
  if (problem != 0) return give_up(std::strerror(problem), now);
  if (!send_whole(socket_.get(), hello_)) return give_up(reason_text(), now);
  stage_ = Stage::waiting;
}

void Call::hear_answer(double now) {
  Answer answer;
  const auto result = incoming_.read(socket_.get(), answer);
  if (result == PieceReader::Result::partial) return;
  if (result == PieceReader::Result::closed) return give_up(reason_text(), now);
  if (answer.proof != prove(secret_, "called", hello_, answer.nonce))
    return give_up("another run listens there", now);
  if (!send_whole(socket_.get(), prove(secret_, "caller", hello_, answer.nonce)))
    return give_up(reason_text(), now);
  stage_ = Stage::established;
}

void Call::advance(bool ready, double now) {
  if (addresses_.empty()) return;
  if (stage_ == Stage::pause && now >= until_) start(now);
  if (ready && stage_ == Stage::connecting) return say_hello(now);
  if (ready && stage_ == Stage::waiting) return hear_answer(now);
  if ((stage_ == Stage::connecting || stage_ == Stage::waiting) && now >= until_)
    give_up("no answer", now);
}

std::string Call::story() const {
  if (addresses_.empty()) return "it has no address but its own loopback";
  std::vector<std::string> parts;
  for (const std::string& address : addresses_) {
    const auto found = problems_.find(address);
    parts.push_back(fmt::format("{} port {}: {}", address, other_.port,
                                found == problems_.end() ? "no answer" : found->second));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A caller that has not yet proved that it knows the secret.
struct Visit {
  double until = 0;  // then it is rejected, and may call again
  Descriptor socket;
  PieceReader incoming;
  std::optional<Hello> hello;
  Answer answer;
};

/// All connections of one process, while they are made.
class Meeting {
 public:
  Meeting(const Listener& listener, const std::vector<Card>& cards, const std::string& secret);
  std::vector<Descriptor> run(double seconds);

 private:
  bool complete() const { return missing_ == 0; }
  void poll_once();
  void accept_visits();
  bool advance(Visit& visit);  // false: the visit is over
  bool hear_hello(Visit& visit);
  void establish(int peer, Descriptor socket);
  [[noreturn]] void fail(double seconds) const;

  const Listener& listener_;
  const std::vector<Card>& cards_;
  const std::string& secret_;
  const SteadyClock clock_;
  const int self_;
  std::list<Call> calls_;
  std::list<Visit> visits_;
  std::vector<Descriptor> established_;
  std::size_t missing_;
};

Meeting::Meeting(const Listener& listener, const std::vector<Card>& cards,
                 const std::string& secret)
    : listener_(listener),
      cards_(cards),
      secret_(secret),
      self_(listener.card.place.rank),
      established_(cards.size()),
      missing_(cards.size() - 1) {
  for (int peer = 0; peer < self_; ++peer)
    calls_.emplace_back(listener.card, cards[static_cast<std::size_t>(peer)], secret);
}

std::vector<Descriptor> Meeting::run(double seconds) {
  const double until = clock_.seconds() + seconds;
  while (!complete()) {
    const double now = clock_.seconds();
    if (now >= until) fail(seconds);
    for (Call& call : calls_) call.advance(false, now);  // acts on deadlines
    poll_once();
  }
  return std::move(established_);
}

void Meeting::poll_once() {
  constexpr int kTickMilliseconds = 50;  // the calls' deadlines need no more precision
  std::vector<pollfd> interests{{listener_.socket.get(), POLLIN, 0}};
  for (const Call& call : calls_) interests.push_back(call.interest());
  for (const Visit& visit : visits_) interests.push_back({visit.socket.get(), POLLIN, 0});
  if (::poll(interests.data(), interests.size(), kTickMilliseconds) <= 0) return;
  std::size_t next = 1;
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (interests[next++].revents != 0) call->advance(true, clock_.seconds());
    if (call->established()) establish(call->peer(), call->take());
    call = call->established() ? calls_.erase(call) : std::next(call);
  }
  for (auto visit = visits_.begin(); visit != visits_.end();) {
    const bool over =
        (interests[next++].revents != 0 && !advance(*visit)) || clock_.seconds() >= visit->until;
    visit = over ? visits_.erase(visit) : std::next(visit);
  }
  if (interests[0].revents != 0) accept_visits();
}

void Meeting::accept_visits() {
  while (true) {
    Visit visit;
    visit.socket = Descriptor(uninterrupted([&] {
      return ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }));
    if (!visit.socket) return;
    visit.until = clock_.seconds() + kVisitSeconds;
    // Silent strangers must not use up the descriptors. The oldest visit is most likely one.
    if (visits_.size() >= cards_.size() + kSpareVisits) visits_.pop_front();
    visits_.push_back(std::move(visit));
  }
}

bool Meeting::hear_hello(Visit& visit) {
  Hello hello;
  const auto result = visit.incoming.read(visit.socket.get(), hello);
  if (result != PieceReader::Result::whole) return result == PieceReader::Result::partial;
  const bool expected = hello.magic == kMagic && hello.to == self_ && hello.from > self_ &&
                        hello.from < static_cast<int>(cards_.size());
  if (!expected) return false;
  visit.hello = hello;
  visit.answer.nonce = new_nonce();
  visit.answer.proof = prove(secret_, "called", hello, visit.answer.nonce);
  return send_whole(visit.socket.get(), visit.answer);
}

bool Meeting::advance(Visit& visit) {
  if (!visit.hello) return hear_hello(visit);
  Proof proof;
  const auto result = visit.incoming.read(visit.socket.get(), proof);
  if (result != PieceReader::Result::whole) return result == PieceReader::Result::partial;
  if (proof == prove(secret_, "caller", *visit.hello, visit.answer.nonce))
    establish(visit.hello->from, std::move(visit.socket));
  return false;
}

void Meeting::establish(int peer, Descriptor socket) {
  Descriptor& place = established_[static_cast<std::size_t>(peer)];
  ACID_ASSERT(!place, "worker {} has called worker {} twice", peer, self_);
  place = std::move(socket);
  --missing_;
}

void Meeting::fail(double seconds) const {
  std::vector<std::string> stories;
  for (const Call& call : calls_) {
    stories.push_back(fmt::format("it cannot reach {} ({})",
                                  cards_[static_cast<std::size_t>(call.peer())].place.name(),
                                  call.story()));
  }
  for (std::size_t peer = static_cast<std::size_t>(self_) + 1; peer < cards_.size(); ++peer)
    if (!established_[peer])
      stories.push_back(fmt::format("{} did not call it", cards_[peer].place.name()));
  constexpr std::size_t kMostStories = 3;
  const std::size_t hidden = stories.size() - std::min(stories.size(), kMostStories);
  stories.resize(stories.size() - hidden);
  throw Error(fmt::format(
      "{} waited {:g} s for the other processes of the run: {}{}; it listens at {}, port {}. Every "
      "host's firewall must let TCP connections from the other hosts through: "
      "execution.mpi.ports confines the ports, execution.mpi.interface names the network to use",
      listener_.card.place.name(), seconds, fmt::join(stories, "; "),
      hidden == 0 ? "" : fmt::format("; and {} more", hidden),
      fmt::join(listener_.card.addresses, ", "), listener_.card.port));
}

}  // namespace

std::vector<Descriptor> meet(const Listener& listener, const std::vector<Card>& cards,
                             const std::string& secret, double seconds) {
  return Meeting(listener, cards, secret).run(seconds);
}

}  // namespace acid
