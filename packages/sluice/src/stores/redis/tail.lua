local hex = sub(ARGV[1], 1, 1) == 'x'
local now = ARGV[1]
if hex then now = sub(now, 2) end
local keep = 0 -- how much longer than until it is clear a row is kept
if now == '' then
  local time = call('TIME')
  now = time[1] * 1000 + time[2] / 1000
else
  -- Another clock may stand still or go back while the server's, by which values expire, goes on.
  now = now + 0
  keep = 86400000
end
local MARK = ARGV[2]

local P, next_arg = {}, 3
for k = 1, N do
  local p = {}
  for i = 1, COUNTS[k] do p[i] = ARGV[next_arg + i - 1] + 0 end
  P[k] = p
  next_arg = next_arg + COUNTS[k]
end

local rows = {} -- per policy, the row it looks at: the narrow one, or its own
local r, key, blocked_until
local free, wait, clear = {}, {}, {}

-- Reads the key's row. Returns an error, if any.
local function load()
  blocked_until = 0
  if GROWN > 0 then
    local value = pcall('GETRANGE', key, 0, HEADER - 1)
    if type(value) == 'table' then return value.err end
    local known = #value == HEADER and sub(value, 1, 2) == MARK
    loaded = #value > 0
    if loaded and not known then
      call('DEL', key)
      loaded = false
    end
    r, grown = {}, {}
    local at = 3
    if known then blocked_until, at = unpack_struct('<d', value, at) end
    for i = 1, WIDTH do
      r[i] = 0
      if known then r[i], at = unpack_struct('<d', value, at) end
    end
    for k = 1, N do
      rows[k] = r
      if ALGORITHMS[k].grows then
        local g = { key = key, head = 0, tail = 0, base = 0, position = HEADER, capacity = 0, times = {}, sums = {} }
        if known then
          g.head, g.tail, g.base, g.position, g.capacity, at = unpack_struct('<ddddd', value, at)
        end
        grown[#grown + 1] = g
        rows[k] = g
      end
    end
    return nil
  end
  local value = pcall('GET', key)
  if value and type(value) ~= 'string' then return value.err end
  if value and sub(value, 1, 2) == MARK then
    r = { unpack_struct(FORMAT, value, 3) }
    local plain = 2 + 8 * WIDTH
    if #value > plain then blocked_until = unpack_struct('<d', value, plain + 1) end
  else
    r = {}
    for i = 1, WIDTH do r[i] = 0 end
  end
  for k = 1, N do rows[k] = r end
  return nil
end

-- Writes it back, to be forgotten when it is clear. Returns an error, if any.
local function save()
  local longest = blocked_until - now
  for k = 1, N do
    if clear[k] > longest then longest = clear[k] end
  end
  longest = max(0, longest) + keep
  if longest == 0 then
    call('DEL', key)
    return nil
  end
  if longest > LONGEST then longest = LONGEST end
  local ttl = ceil(longest)
  local result
  if GROWN > 0 then
    local parts = { MARK, pack('<d', blocked_until) }
    for i = 1, WIDTH do parts[#parts + 1] = pack('<d', r[i]) end
    for _, g in ipairs(grown) do
      parts[#parts + 1] = pack('<ddddd', g.head, g.tail, g.base, g.position, g.capacity)
    end
    result = pcall('SETRANGE', key, 0, table.concat(parts))
    if type(result) ~= 'table' then result = pcall('PEXPIRE', key, ttl) end
  else
    local value = MARK .. pack(FORMAT, unpack(r, 1, WIDTH))
    if blocked_until > now - keep then value = value .. pack('<d', blocked_until) end
    result = pcall('SET', key, value, 'PX', ttl)
  end
  if type(result) == 'table' and result.err then return result.err end
  return nil
end

-- What every policy says to a cost. Returns the longest wait.
local function look(cost)
  local longest = 0
  for k = 1, N do
    local f, w, c = ALGORITHMS[k].look(P[k], rows[k], AT[k], now, cost)
    free[k], wait[k], clear[k] = f, w, c
    if w > longest then longest = w end
  end
  return longest
end

local function charge(cost)
  for k = 1, N do
    if not ALGORITHMS[k].counts_denials then ALGORITHMS[k].take(P[k], rows[k], AT[k], now, cost) end
  end
end

-- Tells the policies that count denials of one. Returns whether there are any.
local function strike()
  local any = false
  for k = 1, N do
    if ALGORITHMS[k].counts_denials then
      ALGORITHMS[k].take(P[k], rows[k], AT[k], now, 1)
      any = true
    end
  end
  return any
end

local out, length, failed = {}, 0, nil
local word, verb, cost, span

for j = 1, #KEYS do
  key = KEYS[j]
  if ARGV[next_arg + j - 1] ~= word then
    word = ARGV[next_arg + j - 1]
    verb = sub(word, 1, 1)
    local blank = string.find(word, ' ', 2, true)
    if blank then
      cost, span = sub(word, 2, blank - 1) + 0, tonumber(sub(word, blank + 1))
    else
      cost, span = sub(word, 2) + 0, 0
    end
  end

  local failure = load()
  local allowed, taken, block, delay = 0, 0, 0, 0
  if not failure then
    local write = false
    local asked = cost
    if blocked_until > now then block = blocked_until - now end
    if verb == 'w' or verb == 'a' then
      local passes = look(cost) == 0 and block == 0
      if passes then allowed = 1 end
      if passes or verb == 'a' then
        charge(cost)
        taken, write = cost, true
      end
      if not passes and block == 0 and strike() then write = true end
    elseif verb == 'p' then
      asked = min(cost, 1)
      if block == 0 then
        if look(cost) == 0 then
          taken = cost
        else
          local least = cost
          for k = 1, N do
            if free[k] < least then least = free[k] end
          end
          local units = floor(least)
          if units >= 1 and look(units) == 0 then taken = units end
        end
      end
      if taken > 0 then
        charge(taken)
        allowed, write = 1, true
      elseif block == 0 and strike() then
        write = true
      end
      if not write then look(asked) end
    elseif verb == 'r' then
      delay = INF
      if block == 0 then
        delay = look(cost)
        for k = 1, N do
          if wait[k] > 0 and not ALGORITHMS[k].bookable then delay = INF end
        end
      end
      if delay < INF and delay <= span then
        charge(cost)
        taken, write = cost, true
        if delay == 0 then allowed = 1 end
      else
        look(cost)
        delay = 0
      end
    else
      if verb == 'f' or verb == 'l' then
        for k = 1, N do
          local algorithm = ALGORITHMS[k]
          if verb == 'f' or algorithm.holds then algorithm.give(P[k], rows[k], AT[k], now, cost) end
        end
        write = true
      elseif verb == 'b' then
        blocked_until, write = now + span, true
        block = max(0, blocked_until - now)
      elseif verb == 'z' then
        call('DEL', key)
        load()
        block = 0
      end
      if verb ~= 'k' then asked = 1 end
      if look(asked) == 0 and block == 0 then allowed = 1 end
    end
    if write then
      look(asked)
      failure = save()
    end
  end
  if failure then
    failed = failed or {}
    failed[#failed + 1] = j
    failed[#failed + 1] = failure
  end
  out[length + 1], out[length + 2], out[length + 3], out[length + 4] = allowed, taken, block, delay
  length = length + 4
  for k = 1, N do
    out[length + 1], out[length + 2], out[length + 3] = free[k] or 0, wait[k] or 0, clear[k] or 0
    length = length + 3
  end
end

local reply = pack('<' .. string.rep('d', length), unpack(out))
if hex then
  reply = string.gsub(reply, '.', function(c) return string.format('%02x', string.byte(c)) end)
end
if failed then return { reply, unpack(failed) } end
return reply
