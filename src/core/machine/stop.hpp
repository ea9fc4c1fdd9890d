// Calls that can be stopped. The thread that starts a long call watches it; threads that work for it check regularly:
//
//   Watch watch(asked);      in the calling thread: while it lives, asked() is called about twenty times a second, and
//                            what that throws ends the call
//   check_stop();            in any thread that works for the call, once per sentence, row or block
//
// Threads that parallel_blocks and Partners start work for the call of the thread that started them.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <cstdint>
#include <exception>

// Thread-local storage allocated at the thread's start: if it is allocated later and memory is out, the C library ends
// the process.
#if defined(__linux__)
#define CHAFFINCH_EARLY_TLS __attribute__((tls_model("initial-exec")))
#else
#define CHAFFINCH_EARLY_TLS
#endif

namespace chaffinch::machine {

// Thrown in the other threads of a call that was stopped.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "the call was stopped"; }
};

class Watch {
  public:
    using Asked = void (*)();

    explicit Watch(Asked asked) : asked_(asked), outer_(here), outer_calling_(calling), next_(now() + interval) {
        here = this, calling = true;
    }
    ~Watch() { here = outer_, calling = outer_calling_; }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
    void stop() { stopped_.store(true, std::memory_order_relaxed); }

    // In the calling thread.
    void ask() {
        const std::int64_t time = now();
        if (time < next_) return;
        next_ = time + interval;
        try {
            asked_();
        } catch (...) {
            stop();
            throw;
        }
    }

    static constexpr std::int64_t interval = 50; // milliseconds

    // The call that this thread works for, and whether it is the one that made it.
    static inline constinit thread_local Watch* here CHAFFINCH_EARLY_TLS = nullptr;
    static inline constinit thread_local bool calling CHAFFINCH_EARLY_TLS = false;

  private:
    // Milliseconds by the cheapest clock; an error of a few does no harm.
    static std::int64_t now() {
#ifdef CLOCK_MONOTONIC_COARSE
        std::timespec time{};
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
        return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1000000;
#else
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
#endif
    }

    Asked asked_;
    Watch* outer_;
    bool outer_calling_;
    std::int64_t next_;
    std::atomic<bool> stopped_{false};
};

// Marks this thread as working for another thread's call.
class Joined {
  public:
    explicit Joined(Watch* call) { Watch::here = call; }
    ~Joined() { Watch::here = nullptr; }
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;
};

inline void check_stop() {
    Watch* call = Watch::here;
    if (call == nullptr) return;
    if (Watch::calling)
        call->ask();
    else if (call->stopped())
        throw Stopped{};
}

} // namespace chaffinch::machine
