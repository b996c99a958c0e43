#include "engine/drivers/mpi/pair_exchange.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace acid {
namespace {

bool goes_by_link(const RunSpec& spec, const MpiOptions& options) {
  return options.link != nullptr && !spec.method.codec;
}

const Backend& offer_memory(const RunSpec& spec, const MpiOptions& options) {
  return goes_by_link(spec, options) ? *spec.backend : spec.backend->messages();
}

}  // namespace

PairExchange::PairExchange(const Run& run, const MpiOptions& options, Post& post,
                           SharedWorker& worker, Progress& progress)
    : run_(run),
      options_(options),
      post_(post),
      worker_(worker),
      progress_(progress),
      rank_(post.rank()),
      by_link_(goes_by_link(run.spec, options)),
      form_(run.spec.method.packed_message(run.objective.dimension(),
                                           run.spec.seeds.derived(Purpose::dither))),
      own_offer_(form_.floats(), offer_memory(run.spec, options)),
      own_packed_(form_.is_packed() ? form_.packed_floats() : 0),
      partner_offer_(post, form_, offer_memory(run.spec, options)) {}

// The offers' memory must outlive what the device does with it.
PairExchange::~PairExchange() {
  if (swapping_) options_.link->abort();
}

void PairExchange::begin() {
  MutexLock lock(worker_.mutex);
  WorkerClock& time = worker_.time();
  if (stage_ != Stage::none || leaving_ || !worker_.edges().any_by(time.time())) return;
  edge_ = worker_.edges().first();
  began_ = run_.clock.seconds();
  if (!leads() || ready_partners_.contains(edge_.number)) progress_.testify(worker_);
  if (!leads()) {
    post_.send(partner(), mail_header(MailKind::ready, edge_.number, time.known()));
    stage_ = Stage::ready;
  } else if (ready_partners_.erase(edge_.number) > 0) {
    time.freeze();
    const bool reaches = !partners_memory().empty();
    post_.send(partner(), mail_header(MailKind::go, edge_.number, time.count(), reaches));
    stage_ = Stage::gone;
  }
}

// The leader of an exchange has more to do, so the partners take turns.
bool PairExchange::leads() const { return (edge_.number % 2 == 0 ? edge_.i : edge_.j) == rank_; }

std::span<float> PairExchange::partners_memory() {
  // A partner that dies in the middle would leave both half changed.
  const bool in_place = run_.spec.method.rules.floats->meets_in_place();
  if (!in_place || !run_.spec.backend->is_host_memory() || options_.goes_on) return {};
  const Window& window = worker_.window();
  return window.worker(post_.window(partner(), window.size()));
}

void PairExchange::deliver(const Mail& mail) {
  switch (MailReader(mail).kind()) {
    case MailKind::ready:
      return hear_ready(mail);
    case MailKind::go:
      return go(mail);
    case MailKind::answer:
      return answer(mail);
    case MailKind::offer:
    case MailKind::rest:
      return fetch_offer(mail);
    case MailKind::lent:
      return exchange(mail);
    case MailKind::returned:
      return take_back(mail);
    default:
      ACID_ASSERT(false, "partners do not speak of {}", static_cast<int>(MailReader(mail).kind()));
  }
}

void PairExchange::expect(Stage stage, std::uint64_t number, const Mail& mail) const {
  ACID_ASSERT(stage_ == stage && edge_.number == number && partner() == mail.from,
              "rank {} speaks of exchange {}, and rank {} is at {} with {}", mail.from, number,
              rank_, edge_.number, partner());
}

void PairExchange::hear_ready(const Mail& mail) {
  const auto [number, known] = MailReader(mail).values<std::uint64_t, std::int64_t>();
  ready_partners_.insert(number);
  MutexLock lock(worker_.mutex);
  worker_.time().hear(known);
}

void PairExchange::go(const Mail& mail) {
  const auto [number, count, reaches] =
      MailReader(mail).values<std::uint64_t, std::int64_t, bool>();
  expect(Stage::ready, number, mail);
  if (reaches) return lend(count);
  {
    MutexLock lock(worker_.mutex);
    worker_.time().hear(count);
    offer(std::max(count, worker_.time().count()));
    progress_.testify(worker_);
  }
  if (!by_link_) return send_offer(MailKind::answer);
  post_.send(partner(), mail_header(MailKind::answer, edge_.number, offered_));
  swap_offers();
}

void PairExchange::answer(const Mail& mail) {
  const auto [number, count] = MailReader(mail).values<std::uint64_t, std::int64_t>();
  expect(Stage::gone, number, mail);
  {
    MutexLock lock(worker_.mutex);
    worker_.time().hear(count);
    offer(count);
    progress_.testify(worker_);
    worker_.time().thaw();
  }
  if (by_link_) return swap_offers();
  send_offer(MailKind::offer);
  fetch_offer(mail);
}

// The gradient thread goes on, but its commits wait.
void PairExchange::lend(std::int64_t count) {
  MutexLock lock(worker_.mutex);
  WorkerClock& time = worker_.time();
  time.hear(count);
  time.lift(count);
  offered_ = time.count();
  const double elapsed = worker_.lend();
  stage_ = Stage::lent;
  post_.send(partner(), mail_header(MailKind::lent, edge_.number, offered_, elapsed));
}

void PairExchange::exchange(const Mail& mail) {
  const auto [number, offered, elapsed] =
      MailReader(mail).values<std::uint64_t, std::int64_t, double>();
  offered_ = offered;
  expect(Stage::gone, number, mail);
  {
    MutexLock lock(worker_.mutex);
    WorkerClock& time = worker_.time();
    time.hear(offered_);
    time.lift(offered_);
    worker_.exchange_with(partners_memory(), elapsed, began_);
    stage_ = Stage::none;
    time.thaw();
  }
  post_.send(mail.from, mail_header(MailKind::returned, number));
}

void PairExchange::take_back(const Mail& mail) {
  const auto [number] = MailReader(mail).values<std::uint64_t>();
  expect(Stage::lent, number, mail);
  MutexLock lock(worker_.mutex);
  worker_.take_back(worker_.time().time_of(offered_), began_);
  stage_ = Stage::none;
}

void PairExchange::offer(std::int64_t count) {
  worker_.time().lift(count);
  offered_ = count;
  worker_.offer(own_offer_.span());
  said_ = form_.number_said(worker_.state().scalars());
  stage_ = Stage::in_flight;
}

void PairExchange::send_offer(MailKind kind) {
  leaving_ = true;
  post_.send(partner(), mail_header(kind, edge_.number, offered_),
             form_.pack(rank_, said_, own_offer_.span(), own_packed_.span()),
             [this] { leaving_ = false; });
}

void PairExchange::fetch_offer(const Mail& mail) {
  const auto [number] = MailReader(mail).values<std::uint64_t>();
  expect(Stage::in_flight, number, mail);
  partner_offer_.fetch(mail, static_cast<std::int64_t>(number), [this] {
    partner_offer_.decode(own_offer_.span(), true);
    if (partner_offer_.is_whole()) apply();
  });
}

// The partner does the same: it is between its offer and its apply too.
void PairExchange::swap_offers() {
  swapping_ = true;  // even if swap() throws: it may have begun
  options_.link->swap(partner(), own_offer_.span(), partner_offer_.message());
}

void PairExchange::finish_swap() {
  if (!swapping_ || !options_.link->done()) return;
  swapping_ = false;
  apply();
}

void PairExchange::apply() {
  MutexLock lock(worker_.mutex);
  worker_.apply(worker_.time().time_of(offered_), own_offer_.span(), partner_offer_.message(),
                began_);
  stage_ = Stage::none;
}

// The edge is still the first of the due edges.
void PairExchange::lose(int rank) {
  MutexLock lock(worker_.mutex);
  if (stage_ != Stage::none && partner() == rank) {
    if (stage_ == Stage::gone) worker_.time().thaw();
    stage_ = Stage::none;
    worker_.edges().give_up();
  }
  worker_.edges().lose(rank);
  worker_.changed.notify_all();
}

}  // namespace acid
