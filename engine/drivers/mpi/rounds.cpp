#include "engine/drivers/mpi/rounds.hpp"

#include "engine/drivers/mpi/process.hpp"

namespace acid {

MpiSync::MpiSync(const Run& run, const MpiOptions& options, Post& post,
                 RoundCoordinator* coordinator, Collector* collector)
    : run_(run),
      post_(post),
      coordinator_(coordinator),
      collector_(collector),
      directives_(run.clock),
      worker_(run, options, post, directives_),
      start_(post, worker_.state(), [this](Start& start) {
        worker_.start(start);
        directives_.begin();
      }) {}

void MpiSync::communicate() {
  std::stop_callback wake_up(run_.stop, [this] { post_.wake(); });
  while (!abandoned_.load() && !(over_ && post_.idle())) {
    post_.pump(kIdleSeconds, [this](const Mail& mail) { deliver(mail); });
    worker_.messages().send_handed_over();
    if (run_.stop.stop_requested() && !told_stop_) {
      post_.send(0, mail_header(MailKind::stop));
      told_stop_ = true;
    }
    if (coordinator_ != nullptr) coordinator_->act();
  }
  post_.let_go();
  abandon();
}

void MpiSync::deliver(const Mail& mail) {
  switch (MailReader(mail).kind()) {
    case MailKind::start:
    case MailKind::start_notes:
    case MailKind::start_vector:
      return start_.deliver(mail);
    case MailKind::slice:
    case MailKind::slice_mean:
    case MailKind::round_ready:
    case MailKind::parameters:
    case MailKind::gaps:
    case MailKind::rest:
      return worker_.messages().deliver(mail);
    case MailKind::directive:
      return directives_.deliver(mail);
    case MailKind::shut_down:
      over_ = true;
      return;
    default:
      return deliver_to_rank_zero(mail, coordinator_, collector_);
  }
}

void MpiSync::abandon() {
  abandoned_.store(true);
  directives_.close();
  worker_.messages().close();
  post_.wake();
}

Outcome run_mpi_sync(const Run& run, const MpiOptions& options) {
  Post post(*options.transport);
  std::optional<Collector> collector;
  std::optional<RoundEvaluator> evaluator;
  if (post.rank() == 0) {
    collector.emplace(run.spec, run.recorder, post);
    post.stay_in_touch([&] { evaluator.emplace(run, post, *collector); });
    evaluator->begin();
  }
  Collector* const collecting = collector ? &*collector : nullptr;
  MpiSync process(run, options, post, evaluator ? &evaluator->coordinator() : nullptr, collecting);
  return run_process(process, evaluator ? &*evaluator : nullptr, collecting, post);
}

}  // namespace acid
