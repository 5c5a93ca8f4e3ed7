-- A GCRA limit on a plain Redis, with the arguments and the reply of CL.THROTTLE.
-- KEYS[1] is the key. ARGV holds max_burst, count, the period in seconds, and the quantity. The stored value is the theoretical
-- arrival time in ms.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + clock[2] / 1000
local interval = ARGV[3] * 1000 / ARGV[2]
local limit = ARGV[1] + 1
local room = limit * interval
local arrival = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
local after = arrival + ARGV[4] * interval
local limited = after - now > room
if not limited then
  arrival = after
  redis.call('SET', KEYS[1], string.format('%.3f', arrival), 'PX', math.ceil(math.max(1, arrival - now)))
end
local left = math.floor((room - (arrival - now)) / interval)
local retry = limited and math.ceil((after - now - room) / 1000) or -1
return { limited and 1 or 0, limit, left, retry, math.ceil((arrival - now) / 1000) }
