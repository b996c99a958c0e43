#include "engine/drivers/mpi/incoming.hpp"

#include <memory>
#include <utility>

namespace acid {
namespace {

void send_rest(Post& post, int to, std::int64_t number, std::span<const float> own,
               const Gaps& gaps) {
  if (!gaps.empty()) post.send(to, mail_header(MailKind::rest, number), rest_of(own, gaps));
}

}  // namespace

Incoming::Incoming(Post& post, const PackedMessage& form, const Backend& memory)
    : post_(post),
      form_(form),
      message_(form.floats(), memory),
      packed_(form.is_packed() ? form.packed_floats() : 0, memory) {}

void Incoming::fetch(const Mail& mail, std::int64_t number, std::function<void()> arrived) {
  if (MailReader(mail).kind() == MailKind::rest) {
    const auto rest = std::make_shared<std::vector<float>>(mail.body_size);
    return post_.fetch(mail, *rest, [this, rest, then = std::move(arrived)] {
      rest_ = std::move(*rest);
      then();
    });
  }
  number_ = number;
  from_ = mail.from;
  has_body_ = is_whole_ = false;
  gaps_.reset();
  rest_.reset();
  const std::span<float> body = form_.is_packed() ? packed_.span() : message_.span();
  post_.fetch(mail, body.first(form_.packed_floats(number)), [this, then = std::move(arrived)] {
    has_body_ = true;
    then();
  });
}

void Incoming::decode(std::span<const float> own, bool is_mutual) {
  const std::span<float> message = message_.span().first(form_.floats(number_));
  if (has_body_ && !gaps_) {
    if (form_.is_packed())
      form_.unpack(from_, number_, packed_.span().first(form_.packed_floats(number_)), own,
                   message);
    gaps_ = form_.gaps(number_, own, message);
    is_whole_ = gaps_->empty();
    if (is_mutual)
      send_rest(post_, from_, number_, own, *gaps_);
    else if (form_.needs_own())
      post_.send(from_, mail_header(MailKind::gaps, number_, *gaps_));
  }
  if (is_whole_ || !gaps_ || !rest_) return;
  fill_gaps(*rest_, *gaps_, message);
  is_whole_ = true;
}

void answer_gaps(Post& post, const Mail& mail, std::span<const float> own) {
  const auto [number, gaps] = MailReader(mail).values<std::int64_t, Gaps>();
  send_rest(post, mail.from, number, own, gaps);
}

}  // namespace acid
