#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace acid {

/// Which images a folder of classes has, as torchvision's ImageFolder wants it:
/// train/CLASS/FILE and test/CLASS/FILE, or val where there is no test. Classes, and the images of
/// one, are in the order of their names' bytes.
struct ImageList {
  struct Part {
    std::string folder;                // that has the classes
    std::vector<std::string> names;    // CLASS/FILE
    std::vector<std::int32_t> labels;  // of each, its class's place
    std::string path(std::size_t image) const { return folder + "/" + names[image]; }
  };
  std::vector<std::string> classes;
  Part train, test;
};

/// Opens no file. Hidden files are left out, and those that no image is called like. Throws
/// UsageError naming what is not as it should be.
ImageList list_images(const std::string& root);

/// SHA-256 of what `sha256sum -z` writes of all images, from the folder and with names that begin
/// with train/ or test/ (also where that is called val), in the order of the names: of the files'
/// bytes, their classes and their names, and not of where the folder is. The arguments are the
/// files' own digests.
std::string digest_of(const ImageList& list, const std::vector<std::string>& train,
                      const std::vector<std::string>& test);
/// The same of the folder as it is: reads all images, with all processors.
std::string image_folder_digest(const std::string& root);

/// Calls visit(0), …, visit(count − 1), by so many threads at once. Those that throw an Error stop
/// nobody: the first few are told together, in order, in the Error thrown at the end.
void for_each_image(std::int64_t count, int threads,
                    const std::function<void(std::int64_t image)>& visit);

}  // namespace acid
