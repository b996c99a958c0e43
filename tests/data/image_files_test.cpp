#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <tuple>

#include "engine/data/byte_file.hpp"
#include "tests/data/scratch.hpp"

namespace acid::testing {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string idx_images(std::uint32_t count, std::uint32_t rows, std::uint32_t columns) {
  std::string bytes =
      big_endian(0x803) + big_endian(count) + big_endian(rows) + big_endian(columns);
  for (std::uint32_t i = 0; i < count * rows * columns; ++i) bytes += static_cast<char>(i % 251);
  return bytes;
}

std::string idx_labels(std::uint32_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (std::uint32_t i = 0; i < count; ++i) bytes += static_cast<char>(i % 10);
  return bytes;
}

const std::string kTrainImages = "train-images-idx3-ubyte", kTestImages = "t10k-images-idx3-ubyte";
const std::string kTrainLabels = "train-labels-idx1-ubyte", kTestLabels = "t10k-labels-idx1-ubyte";

struct IdxFolder : ScratchFolder {
  IdxFolder() {
    write(kTrainImages, idx_images(12, 4, 5));
    write(kTrainLabels, idx_labels(12));
    write(kTestImages, idx_images(3, 4, 5));
    write(kTestLabels, idx_labels(3));
  }
  nlohmann::json options() const { return {{"root", path()}}; }
  /// Reading fails in inspect and load alike, or only in load if the header is sound.
  std::string load_error() const {
    return message_of([&] { dataset("mnist").load(options()); });
  }
  std::string inspect_error() const {
    return message_of([&] { dataset("mnist").inspect(options()); });
  }
};

std::string cifar_records(int count, int label_bytes, int classes) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    if (label_bytes == 2) bytes += static_cast<char>(19);  // the coarse label, ignored
    bytes += static_cast<char>(i % classes);
    bytes += std::string(1024, '\0') + std::string(1024, static_cast<char>(255)) +
             std::string(1024, static_cast<char>(i));
  }
  return bytes;
}

struct Cifar10Folder : ScratchFolder {
  Cifar10Folder() {
    for (int batch = 1; batch <= 5; ++batch)
      write(fmt::format("data_batch_{}.bin", batch), cifar_records(batch, 1, 10));
    write("test_batch.bin", cifar_records(11, 1, 10));
  }
};

}  // namespace

TEST_CASE("IDX files are read, normalised and digested") {
  const IdxFolder folder;
  for (const auto& [name, mean, deviation] :
       {std::tuple("mnist", 0.1307, 0.3081), std::tuple("fashion-mnist", 0.2860, 0.3530)}) {
    const DataInfo info = dataset(name).inspect(folder.options());
    CHECK(info.shape.height == 4);
    CHECK(info.shape.width == 5);
    CHECK(info.shape.classes == 10);
    CHECK(info.train_size == 12);
    CHECK(info.test_size == 3);
    CHECK(info.files.size() == 4);

    const Dataset data = dataset(name).load(folder.options());
    CHECK(data.shape.features() == 20);
    CHECK(data.train->size() == 12);
    CHECK(data.test->size() == 3);
    CHECK(data.train->label(11) == 1);
    CHECK(features(*data.train, 1, 20)[2] == Approx((22 / 255.0 - mean) / deviation));
    REQUIRE(data.files.size() == 4);
    CHECK(data.files[3].path == folder.path(kTestLabels));
    CHECK(data.files[0].sha256.size() == 64);
  }
}

TEST_CASE("Gzipped IDX files give the same examples as plain ones") {
  const IdxFolder plain;
  const ScratchFolder packed;
  for (const std::string& name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels})
    write_gzip(packed, name + ".gz", plain.read(name));
  const Dataset a = load("mnist", plain.options());
  const Dataset b = load("mnist", {{"root", packed.path()}});
  CHECK(dataset("mnist").inspect({{"root", packed.path()}}).train_size == 12);
  for (std::int64_t e = 0; e < 12; ++e) {
    CHECK(a.train->label(e) == b.train->label(e));
    CHECK(features(*a.train, e, 20) == features(*b.train, e, 20));
  }
}

TEST_CASE("Missing IDX files are listed with the folder and the key to change") {
  const ScratchFolder folder;
  folder.write(kTrainImages, idx_images(1, 2, 2));
  const nlohmann::json options{{"root", folder.path()}};
  CHECK_THROWS_AS(dataset("mnist").inspect(options), UsageError);
  const std::string message = message_of([&] { dataset("mnist").load(options); });
  CHECK_THAT(message, ContainsSubstring(folder.path()) && ContainsSubstring(kTrainLabels + ".gz") &&
                          ContainsSubstring(kTestImages) && ContainsSubstring("task.dataset.root"));
  CHECK_THAT(message, !ContainsSubstring(kTrainImages));
  CHECK_THROWS_AS(dataset("mnist").inspect({{"root", folder.path("nowhere")}}), UsageError);
}

TEST_CASE("IDX files of another set are told what to do, by a plan too") {
  const IdxFolder folder;
  std::string letters = idx_labels(12);
  letters.back() = 26;
  folder.write(kTrainLabels, letters);
  for (const std::string& message : {folder.inspect_error(), folder.load_error()})
    CHECK_THAT(message, ContainsSubstring(folder.path(kTrainLabels)) &&
                            ContainsSubstring("a label from 0 to 9") &&
                            ContainsSubstring("letters count from 1") &&
                            ContainsSubstring("docs/DATA.md"));
  const ScratchFolder other;
  other.write("emnist-letters-train-images-idx3-ubyte.gz", "");
  other.write("train-images-idx3-ubyte.bz2", "");
  CHECK_THAT(message_of([&] {
               dataset("mnist").inspect({{"root", other.path()}});
             }),
             ContainsSubstring("it has emnist-letters-train-images-idx3-ubyte.gz, "
                               "train-images-idx3-ubyte.bz2: unpack and rename"));
}

TEST_CASE("What IDX and CIFAR files hold is told by a plan") {
  const IdxFolder folder;
  const DataInfo info = dataset("mnist").inspect(folder.options());
  CHECK_THAT(
      info.splits[0],
      ContainsSubstring("train: 12 examples of 1 × 4 × 5 (channels × height × width; U8, "
                        "divided by 255, then normalised), from -0.42") &&
          ContainsSubstring("; 10 classes of 2, 2, 1, 1, 1, 1, 1, 1, 1, 1; the first: label 0"));
  const Cifar10Folder cifar;
  CHECK_THAT(dataset("cifar10").inspect({{"root", cifar.path()}}).splits[1],
             ContainsSubstring("test: 11 examples of 3 × 32 × 32"));
}

TEST_CASE("IDX files that are not as they should be are refused where they are wrong") {
  const std::string images = idx_images(12, 4, 5), labels = idx_labels(12);
  const std::string vast =
      big_endian(0x803) + big_endian(2000000000) + big_endian(4096) + big_endian(4096);
  std::string eleventh = labels;
  eleventh[8 + 7] = 10;
  // The file, its content, and the words; the first file that is named is told.
  for (const auto& [file, content, says] :
       std::initializer_list<std::tuple<std::string, std::string, std::vector<std::string>>>{
           {kTrainImages, labels, {"at byte 0", "0x00000803", "0x00000801"}},
           {kTrainImages,
            images.substr(0, 10),
            {"at byte 10", "the number of rows", "end of the file"}},
           {kTrainImages, "", {"at byte 0", "magic"}},
           // Shorter or longer than the header says, which is told without reading.
           {kTrainImages,
            images.substr(0, images.size() - 1),
            {"at byte 255", "256 bytes", "a file of 255"}},
           {kTrainImages, images + "x", {"at byte 256", "a file of 257"}},
           {kTrainImages, vast, {"a file of 16"}},
           {kTrainImages, idx_images(0, 4, 5), {"at byte 4"}},
           {kTrainImages, idx_images(12, 4, 0), {"at byte 12", "columns"}},
           {kTrainImages, idx_images(12, 5, 4), {kTestImages, "5 × 4"}},
           {kTrainLabels, idx_labels(11), {"at byte 4", "12", "11"}},
           {kTrainLabels, eleventh, {"at byte 15", "found 10"}}}) {
    const IdxFolder folder;
    folder.write(file, content);
    for (const std::string& message : {folder.inspect_error(), folder.load_error()}) {
      for (const std::string& words : says) CHECK_THAT(message, ContainsSubstring(words));
      if (says[0] != kTestImages) CHECK_THAT(message, ContainsSubstring(folder.path(file)));
    }
  }
}

TEST_CASE("A gzip stream without its checksum, or with half of it, is an error") {
  const ScratchFolder folder;
  write_gzip(folder, "whole.gz", idx_images(12, 4, 5));
  const std::string whole = folder.read("whole.gz");
  for (const std::size_t cut : {1, 4, 6, 8}) {
    folder.write("cut.gz", whole.substr(0, whole.size() - cut));
    ByteFile file(folder.path() + "/cut.gz", "download it again");
    CHECK_THROWS_WITH(file.read_rest(),
                      ContainsSubstring("cut.gz") && ContainsSubstring("cut off"));
  }
  // Streams may follow one another, as gzip allows.
  folder.write("two.gz", whole + whole);
  CHECK(ByteFile(folder.path() + "/two.gz", "").read_rest() ==
        idx_images(12, 4, 5) + idx_images(12, 4, 5));
}

TEST_CASE("A pipe in the place of a file is an error, and not waited for") {
  const ScratchFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(ByteFile(pipe, ""), ContainsSubstring("it is not a regular file"));
}

TEST_CASE("A damaged gzip stream is an error that names the file") {
  const IdxFolder folder;
  std::filesystem::remove(folder.path(kTrainImages));
  const std::string name = kTrainImages + ".gz";
  write_gzip(folder, name, idx_images(12, 4, 5));
  const std::string whole = folder.read(name);
  const auto error_of = [&](const std::string& content) {
    folder.write(name, content);
    const std::string message = folder.load_error();
    CHECK_THAT(message, ContainsSubstring(name));
    return message;
  };
  CHECK_THAT(error_of(whole.substr(0, whole.size() / 2)), ContainsSubstring("end of the file"));
  std::string wrong_checksum = whole;
  wrong_checksum[wrong_checksum.size() - 8] ^= 1;
  error_of(wrong_checksum);
  error_of(whole.substr(0, whole.size() - 8));
  write_gzip(folder, name,
             big_endian(0x803) + big_endian(2000000000) + big_endian(4096) + big_endian(4096));
  CHECK_THAT(folder.load_error(),
             ContainsSubstring(name) && ContainsSubstring("a compressed file of"));
}

TEST_CASE("The CIFAR-10 binary version is read in file order and normalised per channel") {
  const Cifar10Folder folder;
  const nlohmann::json options{{"root", folder.path()}};
  const DataInfo info = dataset("cifar10").inspect(options);
  CHECK(info.shape.channels == 3);
  CHECK(info.shape.classes == 10);
  CHECK(info.train_size == 15);
  CHECK(info.test_size == 11);
  CHECK(info.files.size() == 6);
  const Dataset data = dataset("cifar10").load(options);
  CHECK(data.train->size() == 15);
  CHECK(data.test->size() == 11);
  CHECK(data.train->label(14) == 4);  // the last of five in data_batch_5.bin
  CHECK(data.test->label(10) == 0);
  const std::vector<float> pixels = features(*data.train, 14, 3072);
  CHECK(pixels[0] == Approx(-0.4914 / 0.2470));
  CHECK(pixels[1024] == Approx((1 - 0.4822) / 0.2435));
  CHECK(pixels[3071] == Approx((4 / 255.0 - 0.4465) / 0.2616));
  CHECK(data.files.size() == 6);
}

// A link to itself stands for a folder that may not be searched, which root may all the same.
TEST_CASE("A folder of data that cannot be looked at is an error that says so") {
  const ScratchFolder folder;
  std::filesystem::create_symlink("loop", folder.path("loop"));
  for (const char* name :
       {"mnist", "fashion-mnist", "cifar10", "cifar100", "npy", "image-folder"}) {
    INFO(name);
    const DatasetEntry& entry = dataset(name);
    const nlohmann::json options = options_of(entry, {{"root", folder.path("loop")}});
    CHECK_THROWS_AS(entry.inspect(options), UsageError);
    CHECK_THAT(message_of([&] { entry.load(options); }),
               ContainsSubstring("cannot look at " + folder.path("loop")) &&
                   ContainsSubstring("check its permissions"));
  }
}

TEST_CASE("CIFAR-100 uses the fine labels") {
  const ScratchFolder folder;
  folder.write("train.bin", cifar_records(105, 2, 100));
  folder.write("test.bin", cifar_records(2, 2, 100));
  const Dataset data = load("cifar100", {{"root", folder.path()}});
  CHECK(data.shape.classes == 100);
  CHECK(data.train->size() == 105);
  CHECK(data.train->label(99) == 99);
  CHECK(data.train->label(104) == 4);
  CHECK(features(*data.train, 7, 3072)[3000] == Approx((7 / 255.0 - 0.4409) / 0.2762));
}

TEST_CASE("Damaged or missing CIFAR files are named with the offset of the damage") {
  const Cifar10Folder folder;
  const nlohmann::json options{{"root", folder.path()}};
  const auto load_error = [&] { return message_of([&] { dataset("cifar10").load(options); }); };

  folder.write("data_batch_2.bin", cifar_records(2, 1, 10).substr(0, 3073 + 100));
  CHECK_THAT(load_error(), ContainsSubstring("data_batch_2.bin") &&
                               ContainsSubstring("at byte 3073") && ContainsSubstring("100 bytes"));
  CHECK_THROWS_AS(dataset("cifar10").inspect(options), Error);
  folder.write("data_batch_2.bin", "");
  CHECK_THAT(load_error(), ContainsSubstring("at byte 0"));
  std::string wrong_label = cifar_records(3, 1, 10);
  wrong_label[2 * 3073] = 10;
  folder.write("data_batch_2.bin", wrong_label);
  CHECK_THAT(load_error(), ContainsSubstring("at byte 6146") && ContainsSubstring("from 0 to 9"));
  std::filesystem::remove(folder.path("data_batch_4.bin"));
  CHECK_THAT(load_error(),
             ContainsSubstring("data_batch_4.bin") && !ContainsSubstring("data_batch_3.bin"));
  CHECK_THROWS_AS(dataset("cifar10").inspect(options), UsageError);
}

}  // namespace acid::testing
