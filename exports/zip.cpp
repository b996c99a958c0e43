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

}  // namespace

void write_zip(const std::string& file, const std::string& folder,
               const std::vector<std::string>& paths) {
  int code = 0;
  std::unique_ptr<zip_t, Discard> archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_EXCL, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    zip_failed(file, why);
  }
  for (const std::string& path : paths) add_to_zip(archive.get(), file, folder, path);
  // All files are read, packed and written here.
  if (zip_close(archive.get()) != 0) zip_failed(file, zip_strerror(archive.get()));
  archive.release();
}

}  // namespace acid
