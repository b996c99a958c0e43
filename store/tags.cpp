#include "store/tags.hpp"

#include <sstream>

#include "store/impl.hpp"
#include "store/proof.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

using sqlite::Connection;
using sqlite::Statement;
using sqlite::Transaction;

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
  if (wanted.note.empty()) return;
  Statement(connection, "INSERT OR IGNORE INTO notes VALUES (?, ?, ?, ?)")
      .bind(kind, id, now, wanted.note)
      .run();
  done.notes += changed();
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
  return fmt::format("tagged GLOB '* {} *'", tag);
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

}  // namespace acid
