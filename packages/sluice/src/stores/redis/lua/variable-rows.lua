-- Loads, reports and saves rows, like fixed-rows.lua, for plans with variable-length rows. The entries of such a row, pairs of
-- (time, sum), stay in the value, where they are read and written one by one.
local key_at_hand
-- `base` is where this version's section begins in the value, or nil if the value has no such section. `section_size` is the number
-- of bytes that follow the section's size.
local base, section_size
local exists -- whether the key has a value
local kept_until -- the latest expiry of all versions
local HEADER -- bytes from the beginning of the frame to the first entry, if the section is the first

local function fetch_entry(c, i)
  local from = base + c.position + 16 * i
  c.times[i], c.sums[i] = unpack_struct('<dd', call('GETRANGE', key_at_hand, from, from + 15))
end

local function time_at(c, i)
  if not c.times[i] then fetch_entry(c, i) end
  return c.times[i]
end

local function sum_at(c, i)
  if not c.times[i] then fetch_entry(c, i) end
  return c.sums[i]
end

local function is_only_version()
  if not exists then return true end
  if base ~= 18 then return false end
  local behind = 29 + section_size
  return call('GETRANGE', key_at_hand, behind, behind) == ''
end

-- Rewrites the value with this version's section first. If `growing` is given, that row gets room for twice its entries.
local function make_room(growing)
  local others = ''
  if not is_only_version() then others = other_sections(call('GET', key_at_hand)) end
  local position = HEADER - 18
  local parts = { '' }
  for i = 1, #slots do
    local slot = slots[i]
    local c = slot.row
    if slot.is_variable then
      local live = c.tail - c.head
      local bytes = ''
      if live > 0 then
        local from = base + c.position
        bytes = call('GETRANGE', key_at_hand, from + 16 * c.head, from + 16 * c.tail - 1)
      end
      if c == growing or c.head > 0 then c.capacity = max(2 * live, 3) + 1 end
      parts[#parts + 1] = bytes
      parts[#parts + 1] = string.rep('\0', 16 * c.capacity - #bytes)
      c.position, c.head, c.tail, c.times, c.sums = position, 0, live, {}, {}
      position = position + 16 * c.capacity
    end
  end
  parts[#parts + 1] = others
  base, section_size, exists = 18, position - 11, true
  -- The rest of the frame and of the header is written by `save`, because another row may need room before the hit is saved.
  parts[1] = '!!' .. string.rep('\0', 16) .. mark .. pack('<d', section_size) .. string.rep('\0', HEADER - 29)
  call('SET', key_at_hand, table.concat(parts), 'KEEPTTL')
end

local function put_at(c, i, time, sum)
  if i >= c.capacity then
    make_room(c)
    i = c.tail
  end
  call('SETRANGE', key_at_hand, base + c.position + 16 * i, pack('<dd', time, sum))
  c.times[i], c.sums[i] = time, sum
end

local function load(key)
  key_at_hand, base, kept_until, blocked_until = key, nil, 0, 0
  HEADER = 29 + 8 * NUMBERS
  for i = 1, #slots do
    local slot = slots[i]
    if slot.is_variable then
      slot.row = { head = 0, tail = 0, base = 0, position = 0, capacity = 0, times = {}, sums = {} }
      HEADER = HEADER + 40
    end
  end
  local value = pcall('GETRANGE', key, 0, HEADER - 1)
  if type(value) == 'table' then return value.err end
  exists = #value > 0
  if sub(value, 1, 2) ~= '!!' or #value < 18 then return read_row(nil) end
  blocked_until, kept_until = unpack_struct('<dd', value, 3)
  local at = 18
  if sub(value, 19, 21) ~= mark then
    local found, bytes
    repeat
      local header = call('GETRANGE', key, at, at + 10)
      if #header < 11 then return read_row(nil) end
      found, bytes = unpack_struct('<c3d', header)
      if found ~= mark and not (bytes >= 8 and bytes < 1e9) then return read_row(nil) end
      if found ~= mark then at = at + 11 + bytes end
    until found == mark
    -- Reads the section so that it starts at the same position in `value` as if it were the first section.
    value = call('GETRANGE', key, at - 18, at - 19 + HEADER)
  end
  if #value < HEADER then return read_row(nil) end
  local size = unpack_struct('<d', value, 22)
  if size < HEADER - 29 then return read_row(nil) end
  base, section_size = at, size
  read_row(value, 30)
  at = 30 + 8 * NUMBERS
  for i = 1, #slots do
    local slot = slots[i]
    local c = slot.row
    if slot.is_variable then
      c.head, c.tail, c.base, c.position, c.capacity = unpack_struct('<ddddd', value, at)
      at = at + 40
    end
  end
end

-- The entries stay on the server, so the report contains numbers that the script computes from them. For each policy, these are
-- the available units, the wait for the cost (0 if the hit passed), and the time until the policy is fully replenished. Then
-- follows, for each policy whose refill the process that called the script does not know, the wait for one more unit. The last
-- number, if places are held, is the instant at which the newest place was taken.
local function report(cost, passed, changed)
  local numbers, more, taken_at = {}, {}, nil
  for i = 1, #policies do
    local policy = policies[i]
    local algorithm, p, c = policy.algorithm, policy.params, policy.row
    local available = algorithm.available(p, c, now)
    local wait, own = 0, cost
    if type(cost) == 'table' then own = cost[i] end
    if not passed and (own ~= 0 or own == cost) then wait = algorithm.wait_for(p, c, now, own) end
    local n = #numbers
    numbers[n + 1], numbers[n + 2] = available, wait
    -- After a change, lifetime() has already computed this time.
    numbers[n + 3] = changed and policy.clear or algorithm.clear_in(p, c, now)
    if policy.is_refill_unknown then
      more[#more + 1] = algorithm.wait_for(p, c, now, max(0, floor(available)) + 1)
    end
    if algorithm.taken_at then taken_at = taken_at or algorithm.taken_at(c) end
  end
  for i = 1, #more do numbers[#numbers + 1] = more[i] end
  numbers[#numbers + 1] = taken_at
  return pack('<' .. string.rep('d', #numbers), unpack(numbers))
end

local function save(key)
  if not base then make_room(nil) end
  local header = '!!' .. pack('<dd', blocked_until, max(kept_until, expires))
  local section = mark .. pack('<d', section_size) .. row_bytes()
  for i = 1, #slots do
    local slot = slots[i]
    local c = slot.row
    if slot.is_variable then
      section = section .. pack('<ddddd', c.head, c.tail, c.base, c.position, c.capacity)
    end
  end
  local result
  if base == 18 then
    result = pcall('SETRANGE', key, 0, header .. section)
  else
    result = pcall('SETRANGE', key, 0, header)
    if type(result) ~= 'table' then result = pcall('SETRANGE', key, base, section) end
  end
  if expires > kept_until and type(result) ~= 'table' then result = pcall('PEXPIREAT', key, expires) end
  if type(result) == 'table' then return result.err end
end
