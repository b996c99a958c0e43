#include "exports/zip.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <memory>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// The earliest moment in the format: 1980-01-01 00:00.
constexpr zip_uint16_t kNoTime = 0, kNoDate = 1 << 5 | 1;
constexpr zip_uint32_t kPlainFile = 0100644U << 16U;  // readable by all users

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

[[noreturn]] void zip_failed(const std::string& file, const std::string& why) {
  throw Error(fmt::format("cannot write {}: {}", file, why));
}

void add_to_zip(zip_t* archive, const std::string& file, const std::string& folder,
                const std::string& path) {
  zip_source_t* source = zip_source_file(archive, (folder + "/" + path).c_str(), 0, -1);
  if (source == nullptr) zip_failed(file, zip_strerror(archive));
  const zip_int64_t added = zip_file_add(archive, path.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (added < 0) {
    zip_source_free(source);
    zip_failed(file, zip_strerror(archive));
  }
  const auto index = static_cast<zip_uint64_t>(added);
  if (zip_file_set_dostime(archive, index, kNoTime, kNoDate, 0) != 0 ||
      zip_file_set_external_attributes(archive, index, 0, ZIP_OPSYS_UNIX, kPlainFile) != 0 ||
      zip_set_file_compression(archive, index, ZIP_CM_DEFLATE, 6) != 0)
    zip_failed(file, zip_strerror(archive));
}

[[noreturn]] void unreadable(const std::string& file, const std::string& why) {
  throw Error(fmt::format("cannot read {} as a ZIP archive: {}", file, why));
}

std::string words_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string words = zip_error_strerror(&error);
  zip_error_fini(&error);
  return words;
}

struct Close {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

void read_entry(zip_t* archive, const std::string& file, zip_uint64_t index, std::uint64_t bytes,
                const std::function<void(std::string_view)>& take) {
  const std::unique_ptr<zip_file_t, Close> entry(zip_fopen_index(archive, index, 0));
  if (entry == nullptr) unreadable(file, zip_strerror(archive));
  std::vector<char> piece(1U << 16U);
  std::uint64_t left = bytes;
  for (;;) {
    const zip_int64_t got = zip_fread(entry.get(), piece.data(), piece.size());
    if (got < 0) unreadable(file, zip_file_strerror(entry.get()));
    const auto count = static_cast<std::uint64_t>(got);
    if (count > left || (count == 0 && left > 0))
      unreadable(file, "a file in it has another size than the archive says");
    if (count == 0) return;
    left -= count;
    take({piece.data(), count});
  }
}

}  // namespace

void read_zip(const std::string& file,
              const std::function<void(const std::vector<ZippedFile>&)>& take) {
  int code = 0;
  const std::unique_ptr<zip_t, Discard> archive(
      zip_open(file.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive == nullptr) unreadable(file, words_of(code));
  zip_t* const open = archive.get();
  std::vector<ZippedFile> files;
  const zip_int64_t entries = zip_get_num_entries(open, 0);
  for (zip_int64_t e = 0; e < entries; ++e) {
    const auto index = static_cast<zip_uint64_t>(e);
    zip_stat_t entry;
    zip_stat_init(&entry);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE;
    if (zip_stat_index(open, index, 0, &entry) != 0 || (entry.valid & kNeeded) != kNeeded)
      unreadable(file, zip_strerror(open));
    const std::string path = entry.name;
    if (path.ends_with('/')) continue;
    const std::uint64_t bytes = entry.size;
    files.push_back(
        {path, bytes, [open, file, index, bytes](const std::function<void(std::string_view)>& to) {
           read_entry(open, file, index, bytes, to);
         }});
  }
  take(files);
}

void write_zip(const std::string& file, const std::string& folder,
               const std::vector<std::string>& paths) {
  int code = 0;
  std::unique_ptr<zip_t, Discard> archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_EXCL, &code));
  if (archive == nullptr) zip_failed(file, words_of(code));
  for (const std::string& path : paths) add_to_zip(archive.get(), file, folder, path);
  // All files are read, packed and written here.
  if (zip_close(archive.get()) != 0) zip_failed(file, zip_strerror(archive.get()));
  archive.release();
}

}  // namespace acid
