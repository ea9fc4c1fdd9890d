// Threads over blocks whose bounds do not depend on the number of threads: reduce per-block results in block
// order and the answer has the same bytes for any thread count.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace chaffinch::machine {

// Calls work(block) for every block in [0, blocks), on up to `threads` threads (0: all cores).
template <class Work> void parallel_blocks(std::size_t blocks, std::size_t threads, Work&& work) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    threads = std::min(threads, blocks);
    if (threads <= 1) {
        for (std::size_t b = 0; b < blocks; ++b) work(b);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::vector<std::exception_ptr> failures(threads);
    auto run = [&](std::size_t t) {
        try {
            for (std::size_t b = next++; b < blocks; b = next++) work(b);
        } catch (...) { failures[t] = std::current_exception(); }
    };
    {
        std::vector<std::jthread> team;
        team.reserve(threads - 1);
        for (std::size_t t = 1; t < threads; ++t) team.emplace_back(run, t);
        run(0);
    }
    for (const auto& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

} // namespace chaffinch::machine
