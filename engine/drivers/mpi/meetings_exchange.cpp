// How two processes of an asynchronous run under the mpi driver exchange.
#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/meetings.hpp"

namespace acid {

bool MpiAsync::starts_exchange() {
  return stage_ == Stage::none && !leaving_ && !edges_.empty() &&
         edges_.front().due <= time_.time();
}

void MpiAsync::start_exchange() {
  MutexLock lock(mutex_);
  if (!starts_exchange()) return;
  edge_ = edges_.front();
  exchange_began_ = run_.clock.seconds();
  if (!leads() || ready_partners_.contains(edge_.number)) testify();
  if (!leads()) {
    post_.send(partner(), mail_header(MailKind::ready, edge_.number, time_.known()));
    stage_ = Stage::ready;
  } else if (ready_partners_.erase(edge_.number) > 0) {
    time_.freeze();
    const bool reaches = !partners_memory().empty();
    post_.send(partner(), mail_header(MailKind::go, edge_.number, time_.count(), reaches));
    stage_ = Stage::gone;
  }
}

// The leader of an exchange has more to do, so the partners take turns.
bool MpiAsync::leads() const { return (edge_.number % 2 == 0 ? edge_.i : edge_.j) == rank_; }

std::span<float> MpiAsync::partners_memory() {
  // A partner that dies in the middle would leave both half changed.
  if (!spec_.backend->is_host_memory() || options_.goes_on) return {};
  return post_.window(partner(), Worker::shared_size(settings_));
}

int MpiAsync::partner() const { return edge_.i == rank_ ? edge_.j : edge_.i; }

void MpiAsync::expect(Stage stage, std::uint64_t number, const Mail& mail) const {
  ACID_ASSERT(stage_ == stage && edge_.number == number && partner() == mail.from,
              "rank {} speaks of exchange {}, and rank {} is at {} with {}", mail.from, number,
              rank_, edge_.number, partner());
}

void MpiAsync::go(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  std::int64_t count = 0;
  bool reaches = false;
  reader(number, count, reaches);
  expect(Stage::ready, number, mail);
  if (reaches) return lend(count);
  {
    MutexLock lock(mutex_);
    time_.hear(count);
    offer(std::max(count, time_.count()));
    testify();
  }
  if (options_.link == nullptr) return send_offer(MailKind::answer);
  post_.send(partner(), mail_header(MailKind::answer, edge_.number, offered_));
  swap_offers();
}

void MpiAsync::answer(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  std::int64_t count = 0;
  reader(number, count);
  expect(Stage::gone, number, mail);
  {
    MutexLock lock(mutex_);
    time_.hear(count);
    offer(count);
    testify();
    time_.thaw();
  }
  if (options_.link != nullptr) return swap_offers();
  send_offer(MailKind::offer);
  fetch_offer(mail);
}

// The gradient thread goes on, but its commits wait.
void MpiAsync::lend(std::int64_t count) {
  MutexLock lock(mutex_);
  time_.hear(count);
  time_.lift(count);
  offered_ = time_.count();
  const double elapsed = worker_.lend(time_.time());
  lent_ = in_flight_ = true;
  stage_ = Stage::lent;
  post_.send(partner(), mail_header(MailKind::lent, edge_.number, offered_, elapsed));
}

void MpiAsync::exchange(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  double elapsed = 0;
  {
    MutexLock lock(mutex_);
    reader(number, offered_, elapsed);
    expect(Stage::gone, number, mail);
    time_.hear(offered_);
    time_.lift(offered_);
    worker_.exchange_with(partners_memory(), elapsed, time_.time());
    log(EventKind::exchange, edge_.number);
    exchanged();
    time_.thaw();
  }
  post_.send(mail.from, mail_header(MailKind::returned, number));
}

void MpiAsync::take_back(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  reader(number);
  expect(Stage::lent, number, mail);
  MutexLock lock(mutex_);
  reporter_.log().add(rank_, EventKind::exchange, time_.time_of(offered_), worker_, edge_.number);
  lent_ = false;
  exchanged();
}

void MpiAsync::exchanged() {
  ++report_.exchanges;
  end_span(SpanKind::exchange, exchange_began_);
  edges_.pop_front();
  in_flight_ = false;
  stage_ = Stage::none;
  changed_.notify_all();
}

void MpiAsync::offer(std::int64_t count) {
  time_.lift(count);
  offered_ = count;
  worker_.offer(time_.time(), own_offer_.span());
  log(EventKind::offer, edge_.number);
  in_flight_ = true;
  stage_ = Stage::in_flight;
}

void MpiAsync::send_offer(MailKind kind) {
  leaving_ = true;
  post_.send(partner(), mail_header(kind, edge_.number, offered_), own_offer_.span(),
             [this] { leaving_ = false; });
}

void MpiAsync::fetch_offer(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  reader(number);
  expect(Stage::in_flight, number, mail);
  post_.fetch(mail, partner_offer_.span(), [this] { apply(); });
}

// The partner does the same: it is between its offer and its apply too.
void MpiAsync::swap_offers() {
  swapping_ = true;  // even if swap() throws: it may have begun
  options_.link->swap(partner(), own_offer_.span(), partner_offer_.span());
}

void MpiAsync::finish_swap() {
  if (!swapping_ || !options_.link->done()) return;
  swapping_ = false;
  apply();
}

void MpiAsync::apply() {
  MutexLock lock(mutex_);
  worker_.apply(time_.time(), time_.time_of(offered_), own_offer_.span(), partner_offer_.span());
  log(EventKind::apply, edge_.number);
  exchanged();
}

}  // namespace acid
