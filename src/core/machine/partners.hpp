// Two threads that take the same steps and wait for each other between steps, many times per millisecond.
#pragma once

#include "stop.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

namespace chaffinch::machine {

class Partners {
  public:
    // Runs both(0) and both(1) in parallel. Runs alone() instead if `threads` is 1 (0: all cores), if there is one
    // core, and for a while after one thread waited long for the other, as when other programs keep the cores busy. An
    // exception of either ends both and is rethrown here.
    template <class Both, class Alone> void run(std::size_t threads, Both&& both, Alone&& alone) {
        if (threads == 1 || std::thread::hardware_concurrency() < 2) return alone();
        if (alone_ > 0) return --alone_, alone();
        late_ = part_ = failed_ = false;
        there_ = 0;
        std::exception_ptr failures[2], hearsay;
        const auto guarded = [&](int k) noexcept {
            try {
                both(k);
            } catch (const Stopped&) {
                failed_ = true;
                if (k == 0) hearsay = std::current_exception();
            } catch (...) {
                failed_ = true;
                failures[k] = std::current_exception();
            }
        };
        std::jthread other;
        try {
            other = std::jthread([&, call = Watch::here]() noexcept {
                const Joined joined(call);
                guarded(1);
            });
        } catch (const std::system_error&) { // the system cannot start a second thread
        } catch (const std::bad_alloc&) {}
        if (!other.joinable()) return alone();
        guarded(0);
        other.join();
        for (const std::exception_ptr& failure : {failures[0], failures[1], hearsay})
            if (failure) std::rethrow_exception(failure);
        busy_ = late_ ? std::min(2 * busy_ + 4, 64) : 0;
        alone_ = busy_;
    }

    // Call it in both(k): it returns when the other thread has called it too; each then sees what the other wrote
    // before. Returns false to both if one waited long: they should continue alone. Threads spin, since waking up takes
    // longer than a step.
    bool wait() {
        const unsigned round = round_.load(std::memory_order_acquire);
        if (there_.fetch_add(1, std::memory_order_acq_rel) == 1) {
            part_ = late_;
            there_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return !part_;
        }
        const auto since = std::chrono::steady_clock::now();
        bool long_since = false;
        for (int turns = 1; round_.load(std::memory_order_acquire) == round; ++turns) {
            if (failed_) throw Stopped{};
            if (turns % 256 == 0) check_stop();
            if (long_since)
                std::this_thread::yield(); // the other thread may need this core
            else if (turns % 256 != 0)
                pause();
            else if (long_since = std::chrono::steady_clock::now() - since > patience; long_since)
                late_ = true;
        }
        return !part_;
    }

  private:
    static constexpr std::chrono::milliseconds patience{1}; // a descheduled thread is away for longer

    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    alignas(64) std::atomic<unsigned> there_{0};
    alignas(64) std::atomic<unsigned> round_{0};
    std::atomic<bool> late_{false}; // a wait took long, in this run
    std::atomic<bool> failed_{false}; // one of the two has thrown
    bool part_ = false;             // late_ at the last wait, the same for both
    int busy_ = 0, alone_ = 0;      // runs to do with one thread: the last number set, and those left
};

} // namespace chaffinch::machine
