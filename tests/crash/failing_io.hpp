#pragma once

#include <atomic>
#include <cstdint>

namespace acid::test {

/// libfailing_io.so, preloaded into a program, makes one of its file operations fail as a broken or
/// full disk would. Operations are the writes, syncs, truncations, renames, removals and creations
/// of files and folders under a folder; they count from 1 over all processes of the program. Any
/// thread. Controlled by the environment; without ACID_FAIL_UNDER nothing happens.
///
///   ACID_FAIL_PROGRAM     name of the executable that is meant; its child processes are not
///   ACID_FAIL_UNDER       absolute path of the folder, without symbolic links
///   ACID_FAIL_AT          number of the operation; 0: none fails, they are only counted
///   ACID_FAIL_ERRNO       ENOSPC or EIO
///   ACID_FAIL_MODE        once     that one fails
///                         forever  and all that follow
///                         short    it writes half of what it should, which is legal; writes of
///                                  more than a byte are then the only operations
///                         full     so it does, and all that follow fail, as on a full disk
///   ACID_FAIL_COUNT_FILE  holds a FailingIoCount; must exist, with its size
struct FailingIoCount {
  std::atomic<std::int64_t> operations{0};
  std::atomic<std::int64_t> struck{0};  // how many operations failed or were cut short
  char call[32] = {};                   // the first of these
  char path[1024] = {};                 // and its file
};

}  // namespace acid::test
