#include "engine/drivers/mpi/round_process.hpp"

namespace acid {

void RoundProcess::deliver_own(const Mail& mail) {
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
    default:
      return deliver_to_rank_zero(mail);
  }
}

}  // namespace acid
