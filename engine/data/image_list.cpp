#include "engine/data/image_list.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/mutex.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/base/thread_group.hpp"
#include "engine/data/image_file.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string name;
  bool folder;
};

// The entries of a folder, by name, without hidden ones.
std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    std::string name = entry->path().filename().string();
    if (!name.starts_with('.')) entries.push_back({std::move(name), entry->is_directory(unknown)});
  }
  if (error)
    throw UsageError(fmt::format("cannot read the folder {}: {}; check its permissions", folder,
                                 error.message()));
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

bool is_folder(const fs::path& path) {
  return type_of_file(path.string()) == fs::file_type::directory;
}

std::string folder_of_tests(const fs::path& root) {
  const fs::path test = root / "test";
  return (is_folder(test) ? test : root / "val").string();
}

std::vector<std::string> classes_of(const std::string& folder) {
  std::vector<std::string> classes;
  for (const Entry& entry : entries_of(folder)) {
    if (entry.folder)
      classes.push_back(entry.name);
    else if (names_image(entry.name))
      throw UsageError(fmt::format("{}/{} is in no class: move it to the folder of its class",
                                   folder, entry.name));
  }
  return classes;
}

void expect_same_classes(const ImageList& list) {
  const std::vector<std::string> tested = classes_of(list.test.folder);
  const auto expect_in = [](const std::vector<std::string>& all, const std::string& name,
                            const std::string& there, const std::string& missing) {
    if (!std::ranges::binary_search(all, name))
      throw UsageError(fmt::format(
          "the class '{0}' is in {1}, but not in {2}: both need the same classes; add the folder "
          "{2}/{0}, or remove {1}/{0}",
          name, there, missing));
  };
  for (const std::string& name : list.classes)
    expect_in(tested, name, list.train.folder, list.test.folder);
  for (const std::string& name : tested)
    expect_in(list.classes, name, list.test.folder, list.train.folder);
}

void add_class(ImageList::Part& part, const std::string& name, std::int32_t label) {
  const std::string folder = part.folder + "/" + name;
  const std::size_t before = part.names.size();
  for (Entry& entry : entries_of(folder)) {
    if (entry.folder)
      throw UsageError(
          fmt::format("{}/{} is a folder in that of a class: put its images directly into {}",
                      folder, entry.name, folder));
    if (names_foreign_image(entry.name))
      throw UsageError(
          fmt::format("{}/{} is an image of a kind that is not read: save it as PNG "
                      "or JPEG, or remove it",
                      folder, entry.name));
    if (!names_image(entry.name)) continue;
    part.names.push_back(name + "/" + std::move(entry.name));
    part.labels.push_back(label);
  }
  if (part.names.size() == before)
    throw UsageError(fmt::format(
        "{} has no image, no file that ends in .jpg, .jpeg or .png: add some, or remove the class "
        "'{}' from training and tests",
        folder, name));
  if (part.names.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw UsageError(fmt::format("{} has too many images: remove some", part.folder));
}

}  // namespace

ImageList list_images(const std::string& root) {
  ImageList list;
  list.train.folder = (fs::path(root) / "train").string();
  list.test.folder = folder_of_tests(root);
  for (const std::string& folder : {list.train.folder, list.test.folder})
    if (!is_folder(folder))
      throw UsageError(fmt::format(
          "there is no folder {}: put images into {}/train/CLASS and {}/test/CLASS (or val), or "
          "set task.dataset.root to the folder that has them",
          folder, root, root));
  list.classes = classes_of(list.train.folder);
  if (list.classes.size() < 2)
    throw UsageError(
        fmt::format("{} has {} folders of classes: make one for each class, two or "
                    "more",
                    list.train.folder, list.classes.size()));
  expect_same_classes(list);
  for (ImageList::Part* part : {&list.train, &list.test})
    for (std::size_t c = 0; c < list.classes.size(); ++c)
      add_class(*part, list.classes[c], static_cast<std::int32_t>(c));
  return list;
}

std::string digest_of(const ImageList& list, const std::vector<std::string>& train,
                      const std::vector<std::string>& test) {
  // Full names begin with part and class and are sorted as a whole: "a-b/x" is before "a/x".
  std::map<std::string, const std::string*> files;
  const auto add = [&](const char* name, const ImageList::Part& part,
                       const std::vector<std::string>& digests) {
    for (std::size_t k = 0; k < part.names.size(); ++k)
      files[fmt::format("{}/{}", name, part.names[k])] = &digests[k];
  };
  add("train", list.train, train);
  add("test", list.test, test);
  Sha256 digest;
  for (const auto& [name, sha256] : files) {
    digest.update(fmt::format("{}  {}", *sha256, name));
    digest.update(std::string_view("\0", 1));
  }
  return digest.hex();
}

std::string image_folder_digest(const std::string& root) {
  const ImageList list = list_images(root);
  const auto digests_of = [](const ImageList::Part& part) {
    std::vector<std::string> digests(part.names.size());
    for_each_image(std::ssize(digests), static_cast<int>(std::thread::hardware_concurrency()),
                   [&](std::int64_t image) {
                     const auto k = static_cast<std::size_t>(image);
                     digests[k] = sha256_file(part.path(k));
                   });
    return digests;
  };
  const std::vector<std::string> train = digests_of(list.train);
  return digest_of(list, train, digests_of(list.test));
}

void for_each_image(std::int64_t count, int threads,
                    const std::function<void(std::int64_t image)>& visit) {
  constexpr std::size_t kTold = 10;
  std::atomic<std::int64_t> next = 0;
  Mutex mutex;
  std::map<std::int64_t, std::string> problems;
  ThreadGroup group([&] { next = count; });
  const auto work = [&] {
    for (std::int64_t image = next++; image < count; image = next++) {
      try {
        visit(image);
      } catch (const Error& error) {
        MutexLock lock(mutex);
        problems.emplace(image, error.what());
      }
    }
  };
  const auto useful = std::min<std::int64_t>(std::max(threads, 1), count);
  for (std::int64_t thread = 0; thread < useful; ++thread) group.start(work);
  group.join();
  if (problems.empty()) return;
  if (problems.size() == 1) throw Error(problems.begin()->second);
  std::string text = fmt::format("{} of {} images cannot be used:", problems.size(), count);
  std::size_t told = 0;
  for (const auto& [image, problem] : problems)
    if (told++ < kTold) text += "\n  " + problem;
  if (told > kTold) text += fmt::format("\n  and {} more", told - kTold);
  throw Error(text);
}

}  // namespace acid
