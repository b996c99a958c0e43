#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace acid {

/// The images in a folder of classes, in the layout of torchvision's ImageFolder: train/CLASS/FILE
/// and test/CLASS/FILE, or val/ when there is no test/. Classes, and the images of a class, are in
/// the byte order of their names.
struct ImageList {
  struct Part {
    std::string folder;                // holds the classes' folders
    std::vector<std::string> names;    // CLASS/FILE
    std::vector<std::int32_t> labels;  // index of each image's class
    std::string path(std::size_t image) const { return folder + "/" + names[image]; }
  };
  std::vector<std::string> classes;
  Part train, test;
};

/// Lists the images and opens no file. Hidden files, and files without an image's ending, are left
/// out. Throws UsageError naming what is wrong.
ImageList list_images(const std::string& root);

/// SHA-256 of the output of `sha256sum -z` for all images, run in the folder, with names that begin
/// with train/ or test/ (also where the folder is called val), in the order of the names. It
/// depends on the files' bytes, classes and names, not on the place of the folder. The arguments
/// are the files' own digests.
std::string digest_of(const ImageList& list, const std::vector<std::string>& train,
                      const std::vector<std::string>& test);
/// As above for the folder at `root`: reads all images, with all processors.
std::string image_folder_digest(const std::string& root);

/// Calls visit(0), …, visit(count − 1) from this many threads at once. An Error of one call does
/// not stop the others: the first few are joined, in order, in the Error thrown at the end.
void for_each_image(std::int64_t count, int threads,
                    const std::function<void(std::int64_t image)>& visit);

}  // namespace acid
