#include "store/tags.hpp"

#include <sstream>

#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/select.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

constexpr std::string_view kBeforeTag = "tagged GLOB '* ", kAfterTag = " *'";

void change(const Connection& connection, const std::string& kind, const std::string& id,
            const TagChange& wanted, TagsChanged& done) {
  const std::string now = utc_now();
  const auto changed = [&] { return static_cast<std::size_t>(connection.changes()); };
  Statement remove(connection, "DELETE FROM tags WHERE kind = ? AND id = ? AND tag = ?");
  for (const std::string& tag : wanted.remove) {
    remove.bind(kind, id, tag).run();
    done.removed += changed();
  }
  Statement add(connection, "INSERT OR IGNORE INTO tags VALUES (?, ?, ?, ?)");
  for (const std::string& tag : wanted.add) {
    add.bind(kind, id, tag, now).run();
    done.added += changed();
  }
  if (!wanted.note) return;
  if (wanted.note->empty()) {
    Statement(connection, "DELETE FROM notes WHERE kind = ? AND id = ?").bind(kind, id).run();
    done.notes_removed += changed();
    return;
  }
  Statement(connection, "INSERT OR IGNORE INTO notes VALUES (?, ?, ?, ?)")
      .bind(kind, id, now, *wanted.note)
      .run();
  done.notes += changed();
}

/// A note is shown on terminals and pages as it is.
void require_note(const std::string& note) {
  for (std::size_t k = 0; k < note.size(); ++k) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(note[at]); };
    // U+0080 to U+009F are control characters, too.
    const bool second_set = byte(k) == 0xC2 && k + 1 < note.size() && byte(k + 1) < 0xA0;
    if (byte(k) >= 0x20 && byte(k) != 0x7F && !second_set) continue;
    throw UsageError(
        fmt::format("--note: a note is one line of text, and this one has the control character "
                    "U+{:04X} as its byte {}; leave it out, or give a line a note of its own",
                    byte(second_set ? k + 1 : k), k + 1));
  }
}

std::vector<Tagged> tagged_of(const Connection& connection, const std::string& kind,
                              const std::vector<std::string>& ids) {
  Statement select(connection,
                   "SELECT j.value, (SELECT name FROM experiments WHERE ?1 = 'experiment'"
                   "  AND id = j.value), (SELECT group_concat(tag, ' ') FROM tags"
                   "  WHERE kind = ?1 AND id = j.value),"
                   " EXISTS (SELECT 1 FROM notes WHERE kind = ?1 AND id = j.value)"
                   " FROM json_each(?2) j ORDER BY j.key");
  std::vector<Tagged> all;
  for (select.bind(kind, json_text(ids)); select.step();) {
    all.push_back({kind, select.text(0), select.text(1), words_of(select.text(2)), {}});
    if (select.integer(3) != 0) all.back().notes = notes_of(connection, kind, all.back().id);
  }
  return all;
}

}  // namespace

void require_tag(const std::string& tag) {
  constexpr std::size_t kLongest = 40;
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (tag.empty() || tag.size() > kLongest || tag.find_first_not_of(kLetters) != std::string::npos)
    throw UsageError(fmt::format(
        "'{}' is no tag: a tag has 1 to {} letters, digits and \"._-\"; a sentence is a note "
        "(--note)",
        tag, kLongest));
}

std::string has_tag(const std::string& tag) {
  require_tag(tag);
  return fmt::format("{}{}{}", kBeforeTag, tag, kAfterTag);
}

std::string words_of_condition(const std::string& condition) {
  if (!condition.starts_with(kBeforeTag) || !condition.ends_with(kAfterTag)) return condition;
  const std::size_t edges = kBeforeTag.size() + kAfterTag.size();
  return fmt::format("the tag '{}'", condition.substr(kBeforeTag.size(), condition.size() - edges));
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<NoteRow> notes_of(const Connection& connection, const std::string& kind,
                              const std::string& id) {
  Statement select(connection,
                   "SELECT time, text FROM notes WHERE kind = ? AND id = ? ORDER BY time, text");
  std::vector<NoteRow> notes;
  for (select.bind(kind, id); select.step();) notes.push_back({select.text(0), select.text(1)});
  return notes;
}

TagsChanged change_tags(Store& store, const Named& named, const TagChange& wanted) {
  for (const auto* const tags : {&wanted.add, &wanted.remove})
    for (const std::string& tag : *tags) require_tag(tag);
  if (wanted.note) require_note(*wanted.note);
  const Connection& connection = store.impl().connection();
  Transaction transaction(connection, Transaction::Kind::write);
  const bool were_sealed = tags_are_sealed(connection);
  TagsChanged done;
  for (const std::string& id : named.runs) change(connection, "run", id, wanted, done);
  for (const std::string& id : named.experiments)
    change(connection, "experiment", id, wanted, done);
  if (were_sealed) seal_tags(connection);
  transaction.commit();
  return done;
}

std::vector<Tagged> tags_of(const Store& store, const Named& named) {
  const Connection& connection = store.impl().connection();
  const Transaction one_view(connection, Transaction::Kind::read);
  std::vector<Tagged> all = tagged_of(connection, "run", named.runs);
  for (Tagged& one : tagged_of(connection, "experiment", named.experiments))
    all.push_back(std::move(one));
  return all;
}

}  // namespace acid
