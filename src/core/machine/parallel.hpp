// Threads over blocks whose bounds do not depend on the number of threads: reduce per-block results in block
// order and the answer has the same bytes for any thread count.
#pragma once

#include "stop.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace chaffinch::machine {

// Keeps one failure of the blocks: that of the first block, whichever thread failed first. A request to stop takes
// precedence over all failures; a thread that ended because of the request records nothing.
class FirstFailure {
  public:
    static constexpr std::size_t request = 0, hearsay = static_cast<std::size_t>(-1);

    // Call it in a handler; rank: the block's number + 1. Blocks are taken in order, so all earlier blocks have been
    // taken and will be finished.
    void note(std::size_t rank) noexcept {
        const std::scoped_lock locked(lock_);
        if (!failure_ || rank < rank_) rank_ = rank, failure_ = std::current_exception();
        any_.store(true, std::memory_order_relaxed);
    }
    bool any() const { return any_.load(std::memory_order_relaxed); }
    void raise() const { // once all threads have ended
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    std::mutex lock_;
    std::atomic<bool> any_{false};
    std::size_t rank_ = 0;
    std::exception_ptr failure_;
};

// Counts the threads that have ended, for a thread that waits with a timeout.
class Ended {
  public:
    void one_more() noexcept {
        const std::scoped_lock locked(lock_);
        ++count_;
        changed_.notify_one();
    }
    // False: timed out.
    bool wait(std::size_t count) {
        std::unique_lock locked(lock_);
        return changed_.wait_for(locked, std::chrono::milliseconds(Watch::interval), [&] { return count_ == count; });
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::size_t count_ = 0;
};

// Calls work(block) for every block in [0, blocks), on up to `threads` threads (0: all cores), or fewer if the system
// cannot start more. An exception of a block is rethrown here, after the threads have ended; later blocks may not have
// been done.
template <class Work> void parallel_blocks(std::size_t blocks, std::size_t threads, Work&& work) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    threads = std::min(threads, blocks);
    if (threads <= 1) {
        for (std::size_t b = 0; b < blocks; ++b) check_stop(), work(b);
        return;
    }
    Watch* const call = Watch::here;
    std::atomic<std::size_t> next{0};
    Ended ended;
    FirstFailure failure;
    const auto go_on = [&]() noexcept {
        try {
            check_stop();
        } catch (const Stopped&) { failure.note(FirstFailure::hearsay);
        } catch (...) { failure.note(FirstFailure::request); }
        return !failure.any();
    };
    const auto run = [&]() noexcept {
        for (std::size_t b = next++; b < blocks && go_on(); b = next++) {
            try {
                work(b);
            } catch (const Stopped&) { failure.note(FirstFailure::hearsay);
            } catch (...) { failure.note(b + 1); }
        }
    };
    {
        std::vector<std::jthread> team;
        team.reserve(threads - 1);
        try {
            for (std::size_t t = 1; t < threads; ++t)
                team.emplace_back([&]() noexcept {
                    const Joined joined(call);
                    run();
                    ended.one_more();
                });
        } catch (const std::system_error&) { // the system cannot start more threads: the running ones do all the work
        } catch (const std::bad_alloc&) {}
        run();
        while (!ended.wait(team.size())) go_on();
    }
    failure.raise();
}

} // namespace chaffinch::machine
